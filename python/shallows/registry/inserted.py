"""Tables of single pages of the documentation, in place of their marks: `<!-- worlds of keys -->`.

Which world supports which key, and over which transport a key acts; the kinds of marking with their
parameters; the limits of quantities; and the defaults that follow the network.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from shallows import units
from shallows.algorithms.marking import RECOMMENDED
from shallows.algorithms.parameters import text
from shallows.base import markdown
from shallows.base.limits import LIMITS
from shallows.core.rows import Parameter
from shallows.registry import catalog, rules
from shallows.registry.keys import WORLDS
from shallows.scenario.supported_keys import transport_table, world_table
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable

MODELS = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable}
DIMENSIONS = {"ps": units.TIME, "bps": units.RATE, "B": units.SIZE}


def _markings() -> Iterator[tuple[str, str, str]]:
    for row in catalog.markings():
        about = f"{row['summary'].removesuffix('.')} ({row['source']})"
        yield f"**`{row['name']}`**", f'at `"{row["at"]}"`', about
        for one in row["parameters"]:
            yield f"`{one['name']}`", f"`{_default(one)}`", one["meaning"]


def _default(parameter: Parameter) -> str:
    """The default of a parameter as TOML has it."""
    value = RECOMMENDED if parameter.get("rule") else text(parameter["default"], parameter["unit"], None)
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _limits() -> Iterator[tuple[str, str, str, str]]:
    for limit in LIMITS:
        least, most = (_amount(amount, limit.unit) for amount in (limit.least, limit.most))
        yield limit.what, least, most, limit.why


def _amount(amount: int, unit: str) -> str:
    return DIMENSIONS[unit].text(amount) if unit in DIMENSIONS else f"{amount:,} {unit}".strip()


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "worlds of keys": lambda: world_table(WORLDS, MODELS),
    "transports of keys": transport_table,
    "kinds of marking": lambda: markdown.table(("kind or parameter", "default", "meaning"), _markings()),
    "limits of quantities": lambda: markdown.table(("quantity", "least", "most", "reason"), _limits()),
    "defaults that follow the network": rules.table,
}
"""The lines of each table, by its mark."""
MARK = re.compile(rf"(?m)^<!-- ({'|'.join(TABLES)}) -->$")


def expanded(page: str) -> str:
    """A page of the documentation with these tables in place of their marks."""
    return MARK.sub(lambda found: "\n".join(TABLES[found[1]]()), page)
