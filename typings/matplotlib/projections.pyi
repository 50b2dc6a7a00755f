"""Of matplotlib a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

def __getattr__(name: str) -> Any: ...
