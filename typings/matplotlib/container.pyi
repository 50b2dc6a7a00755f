"""Of matplotlib a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Columns

class BarContainer(Columns): ...

def __getattr__(name: str) -> Any: ...
