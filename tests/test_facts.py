"""Each fact stands once: the keys of a queue in one model, the values of an enumeration in one language."""

import ast
from pathlib import Path
from typing import Literal, get_args, get_origin

import shallows as sh
from shallows.base.table import Key, Table
from shallows.core import contract
from shallows.scenario import queues
from shallows.scenario.queues import PortTable, QueueKeys, QueueTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.units import OptionalCount

PACKAGE = Path(sh.__file__).parent
CHOICES = {
    name: frozenset(get_args(value))
    for name, value in vars(contract).items()
    if get_origin(value) is Literal and name not in vars(queues)
}
"""The enumerations of the core's request."""


def groups(path):
    """The sets of texts that a module writes in a `Literal`, a tuple, a list or a set, and their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            texts = {str(one.value) for one in node.elts if isinstance(one, ast.Constant)}
            yield node.lineno, texts


def test_the_values_of_an_enumeration_of_the_core_stand_in_no_module():
    assert CHOICES["LossDetection"] == {"duplicate-acks", "rack"}
    assert len(CHOICES) == 5
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "contract.py"
        for line, texts in groups(path)
        for name, values in CHOICES.items()
        if texts >= values
    ]
    # the fluid model of DCQCN names the choices of a parameter of its own
    assert [one for one in found if not one.startswith("fluid/")] == []


def test_a_scenario_takes_the_values_of_an_enumeration_from_the_core():
    for model, key in ((HostTable, "nic"), (HostTable, "loss_detection"), (HostTable, "retransmission")):
        assert frozenset(get_args(model.model_fields[key].annotation)) in CHOICES.values()
    assert frozenset(get_args(NetworkTable.model_fields["balancing"].annotation)) in CHOICES.values()


def declared(model):
    """The keys that a class of tables declares itself."""
    return set(model.__annotations__) & set(model.model_fields)


def test_each_key_of_a_queue_is_declared_once():
    """`trimming` of ports alone has another type: false would differ from no key nowhere."""
    assert issubclass(NetworkTable, QueueTable)
    assert issubclass(TrafficClass, QueueTable)
    assert issubclass(PortTable, QueueKeys)
    of_queues = declared(QueueKeys) | declared(QueueTable)
    assert of_queues == {"marking", "trimming", "buffer", "pfc"}
    assert of_queues & (declared(NetworkTable) | declared(TrafficClass)) == set()
    assert of_queues & declared(PortTable) == {"trimming"}


def test_the_text_of_a_key_says_what_it_is_by_default_in_each_table():
    texts = [model.model_fields["buffer"].description for model in (NetworkTable, TrafficClass, PortTable)]
    what = "of the queue at a switch port; by default "
    assert [text.removeprefix(what) for text in texts] == [
        "375KB, or more for a longer path or a larger threshold",
        "as network.buffer",
        "as elsewhere",
    ]


class Turning(QueueTable, frozen=True):
    """A table with a key that the core's class has by the same name."""

    turn: OptionalCount = Key(None, description="as in the core")


def test_a_key_that_the_core_has_reaches_it_by_its_name(monkeypatch):
    """No code but the declaration of `turn` above names it; elsewhere a queue has no such key."""
    monkeypatch.setattr(queues, "_OF_PORTS", queues._OF_PORTS - {"turn"})
    assert Turning().to_class() == {}
    assert Turning(turn=3).to_class() == {"turn": 3}
    assert Turning().with_defaults_of(Turning(turn=4)).to_class() == {"turn": 4}
    assert Turning(turn=3).with_defaults_of(Turning(turn=4)).to_class() == {"turn": 3}


def test_a_key_reaches_the_core_with_its_unit():
    class Stated(Table, frozen=True):
        stack: OptionalCount = Key(None, description="a time")

    assert Stated(stack=2).to_core(dict_of("stack_ps", "noise_ps"), but={"noise_ps"}) == {"stack_ps": 2}


def dict_of(*keys):
    """A class with these annotations."""
    return type("Of", (), {"__annotations__": dict.fromkeys(keys, int)})
