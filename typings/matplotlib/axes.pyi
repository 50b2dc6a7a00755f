"""Of matplotlib a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Opaque

class Axes(Opaque):
    def set_xscale(self, value: str, **options: Any) -> None: ...
    def set_yscale(self, value: str, **options: Any) -> None: ...

def __getattr__(name: str) -> Any: ...
