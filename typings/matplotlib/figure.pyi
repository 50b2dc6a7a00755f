"""Of matplotlib a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Opaque

class Figure(Opaque):
    def savefig(self, *arguments: Any, **options: Any) -> None: ...
    def add_subplot(self, *arguments: Any, **options: Any) -> Any: ...

def __getattr__(name: str) -> Any: ...
