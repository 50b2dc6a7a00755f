"""Of pandas a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Columns

class DataFrame(Columns): ...
class Series(Columns): ...

def __getattr__(name: str) -> Any: ...
