"""Of matplotlib a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Opaque

class PolyCollection(Opaque): ...

def __getattr__(name: str) -> Any: ...
