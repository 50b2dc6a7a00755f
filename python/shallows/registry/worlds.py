"""The tables of docs/scenario-worlds.md: which world supports which key, and over which transport a key acts.

The page has marks, `<!-- worlds of keys -->` and `<!-- transports of keys -->`, in the place of the tables.
"""

import re

from shallows.registry.keys import WORLDS
from shallows.scenario.supported_keys import transport_table, world_table
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable

MARK = re.compile(r"(?m)^<!-- (worlds|transports) of keys -->$")
TABLES = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable}


def expanded(page: str) -> str:
    """A page of the documentation with the tables in place of their marks."""
    tables = {"worlds": lambda: world_table(WORLDS, TABLES), "transports": transport_table}
    return MARK.sub(lambda found: "\n".join(tables[found[1]]()), page)
