"""The tables of a scenario as Python classes: `Dumbbell(hosts=4)`, `LongLived(flows=10)`.

The classes are made from the models of the scenario. The keys for editors and type checkers are in
`builders.pyi`, which `make generated` writes. A key that is absent has its default. `Scenario` checks the
values, because it knows all of them.
"""

from collections.abc import Mapping
from inspect import Parameter, Signature, cleandoc
from keyword import iskeyword

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from shallows.base.table import Table
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.scenario.faults import Fault
from shallows.scenario.literal import CC, Builder, Marking
from shallows.scenario.queues import Pauses, Policer, Pool, PortTable, Shared, TrafficClass, Trimming
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable, TimestampTable
from shallows.topology import KINDS as TOPOLOGY_KINDS
from shallows.traffic import KINDS as TRAFFIC_KINDS
from shallows.traffic import Task
from shallows.traffic.costs import CostTable

PARTS: dict[str, type[Table]] = {
    "Shared": Shared,
    "Pauses": Pauses,
    "Trimming": Trimming,
    "Policer": Policer,
    "Timestamps": TimestampTable,
    "Costs": CostTable,
    "Network": NetworkTable,
    "Hosts": HostTable,
    "Record": RecordTable,
    "TrafficClass": TrafficClass,
    "Pool": Pool,
    "PortSettings": PortTable,
    "Fault": Fault,
    "Task": Task,
}
"""The model of each builder whose table has no kinds."""
KINDS: dict[type[Table], str] = {
    model: kind for kinds in (TOPOLOGY_KINDS, TRAFFIC_KINDS) for kind, model in kinds.items()
}
"""The kind of each model of a topology or of traffic, whose builder has the name of the model."""
MODELS: dict[str, type[Table]] = {**PARTS, **{model.__name__: model for model in KINDS}}


def keys_of(model: type[Table]) -> dict[str, FieldInfo]:
    """The fields of a builder, by their names in Python: required ones first, then those of its own."""
    named = {field.alias or name: field for name, field in model.model_fields.items()}
    named = {f"{name}_" if iskeyword(name) else name: field for name, field in named.items()}
    own = model.__annotations__  # what a kind inherits comes last
    ordered = sorted(named.items(), key=lambda item: (not item[1].is_required(), item[0] not in own))
    return {name: field for name, field in ordered if name != "kind" or model not in KINDS}


def default_of(field: FieldInfo) -> object:
    """The default of a key as a builder shows it; None if it has none."""
    default: object = None if field.default is PydanticUndefined else field.default
    return tuple(default) if is_list(default) else default


def documentation(model: type[Table]) -> str:
    """The docstring of a builder: that of its model, and its keys."""
    return f"{cleandoc(model.__doc__ or '')}\n\n" + "\n".join(
        f"{name}: {_described(field)}" for name, field in keys_of(model).items()
    )


def _described(field: FieldInfo) -> str:
    default = default_of(field)
    if field.is_required():
        return f"{field.description}; required"
    return f"{field.description}" if default is None else f"{field.description}; default {default}"


def _made(name: str, model: type[Table]) -> type[Builder]:
    """The builder of a model."""
    known = {
        key: Parameter.empty if field.is_required() else default_of(field)
        for key, field in keys_of(model).items()
    }
    parameters = [Parameter(key, Parameter.KEYWORD_ONLY, default=value) for key, value in known.items()]
    members = {
        "__doc__": documentation(model),
        "__module__": __name__,
        "__signature__": Signature(parameters),
        "kind": KINDS.get(model),
        "known": known,
    }
    return type(name, (Builder,), members)


_BUILDERS = {name: _made(name, model) for name, model in MODELS.items()}
globals().update(_BUILDERS)
__all__ = ["CC", "Marking", *_BUILDERS]  # pyright: ignore[reportUnsupportedDunderAll]

_TOPOLOGIES = {kind: _BUILDERS[model.__name__] for kind, model in TOPOLOGY_KINDS.items()}
_TRAFFIC = {kind: _BUILDERS[model.__name__] for kind, model in TRAFFIC_KINDS.items()}
_TABLES: dict[str, type[Builder]] = {
    **{"network": _BUILDERS["Network"], "hosts": _BUILDERS["Hosts"]},
    **{"cc": CC, "record": _BUILDERS["Record"]},
}


def to_source(tables: Mapping[str, object]) -> str:
    """The Python expression for the tables of a scenario, with builders."""
    given = {key: value for key, value in tables.items() if value is not None}
    for key, builder in _TABLES.items():
        table = given.get(key)
        if is_table(table):
            given[key] = _part(table, builder)
    topology, traffic = given.get("topology"), given.get("traffic")
    if is_table(topology):
        given["topology"] = _part(topology, _TOPOLOGIES.get(str(topology.get("kind"))))
    if is_list(traffic):
        given["traffic"] = [_part(table, _TRAFFIC.get(table.get("kind"))) for table in traffic]
    return f"Scenario({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def _part(table: dict[str, object], builder: type[Builder] | None) -> object:
    """The builder of a table; the table itself if there is none."""
    if builder is None:
        return table
    keys = {f"{key}_" if iskeyword(key) else key: value for key, value in table.items()}
    if builder.kind:
        keys.pop("kind", None)
    try:
        return builder(**keys)
    except (TypeError, ScenarioError):  # a required key is in a file
        return table
