"""Of pyarrow a strict check knows the names of classes; what they have is `Any`."""

from typing import Any

from opaque import Columns

class Table(Columns):
    @staticmethod
    def from_batches(*arguments: Any, **options: Any) -> Table: ...
    @staticmethod
    def from_pandas(*arguments: Any, **options: Any) -> Table: ...

class RecordBatch(Columns): ...
class Schema(Columns): ...
class ArrowException(Exception): ...  # noqa: N818 (its name)

def __getattr__(name: str) -> Any: ...
