"""Of pandas a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Columns, Numbers

class DataFrame(Columns): ...
class Series(Numbers): ...

def __getattr__(name: str) -> Any: ...
