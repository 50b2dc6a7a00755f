"""Every public name says what it takes, what it gives and what it is: annotations and a docstring."""

import inspect
from functools import cached_property

import pytest

import shallows as sh
from each import each
from shallows.scenario.literal import Builder


def public():
    """{name as a user writes it: object}: what `shallows` exports, and the public members of it."""
    found = {}
    for name in sh.__all__:
        thing = found[f"sh.{name}"] = getattr(sh, name)
        if inspect.isclass(thing) or inspect.ismodule(thing):
            found |= {f"sh.{name}.{key}": member for key, member in members(thing)}
    return found


def members(owner):
    """(name, member) of a class, with what it has of other classes of the package, or of a module."""
    if inspect.ismodule(owner):
        return [(key, one) for key, one in vars(owner).items() if is_own(key, one, owner.__name__)]
    classes = [one for one in reversed(owner.__mro__) if one.__module__.startswith("shallows.")]
    of_all = {key: one for cls in classes for key, one in vars(cls).items()}
    return [(key, one) for key, one in of_all.items() if not key.startswith("_") and is_code(one)]


def is_own(key, one, module):
    defined_here = f"{getattr(one, '__module__', None)}.".startswith(f"{module}.")
    return not key.startswith("_") and defined_here and (inspect.isfunction(one) or inspect.isclass(one))


def is_code(one):
    return inspect.isfunction(one) or isinstance(one, property | cached_property | classmethod | staticmethod)


def function(thing):
    """The function behind a member; None behind a class or a module."""
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, cached_property):
        return thing.func
    if isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    return thing if inspect.isfunction(thing) else None


def lacks(thing):
    """What a public name fails to say."""
    found = function(thing)
    missing = [] if (inspect.getdoc(found or thing) or "").strip() else ["a docstring"]
    if inspect.isclass(thing):
        found = vars(thing).get("__init__")  # of a dataclass or a model: made from annotated fields
    if inspect.isfunction(found):
        parameters = [one for key, one in inspect.signature(found).parameters.items() if key != "self"]
        untyped = [one.name for one in parameters if one.annotation is one.empty and one.name != "cls"]
        missing += [f"a type of {name}" for name in untyped]
        if inspect.signature(found).return_annotation is inspect.Signature.empty:
            missing.append("what it returns")
    return missing


@each(sorted(public().items()))
def test_a_public_name_has_types_and_a_docstring(name, thing):
    assert lacks(thing) == [], name


def test_a_name_without_them_would_be_found():
    class Bare:
        def __init__(self, size):
            self.size = size

        def method(self, other):
            return other

    assert lacks(Bare) == ["a docstring", "a type of size", "what it returns"]
    assert lacks(Bare.method) == ["a docstring", "a type of other", "what it returns"]
    assert "sh.Run.figure" in public()
    assert "sh.plot.queue_cdf" in public()
    assert "sh.Sweep.table" in public()


def test_every_table_of_a_scenario_is_public():
    tables = {
        "Fault",
        "Pool",
        "PortSettings",
        "Task",
        "Tasks",
        "TrafficClass",
        "Training",
        "Dumbbell",
        "Poisson",
    }
    assert tables <= {*sh.__all__}
    assert all(issubclass(getattr(sh, name), Builder) for name in tables)
    with pytest.raises(AttributeError, match="no attribute 'Table'"):
        _ = sh.Table


TABLES = {"duration": "1ms", "topology": sh.Dumbbell(hosts=2), "traffic": [{"kind": "long-lived"}]}


def test_an_algorithm_has_one_name_in_all_functions():
    assert sh.run(TABLES, cc="dctcp").summary["cc"] == ["dctcp"]
    assert sh.run({**TABLES, "cc": "reno"}, cc=sh.CC("dctcp", g=0.1)).scenario.cc.parameters["g"] == 0.1
    # A name keeps what else the table of the algorithm says, as an override of `cc.name` does.
    dctcp = {"name": "dctcp", "receiver": {"resolution": "1ms"}}
    assert sh.run({**TABLES, "cc": dctcp}, cc="reno").scenario.cc.name == "reno"
    assert [*sh.compare(TABLES, cc="dctcp").runs] == ["dctcp"]
    assert [*sh.compare(TABLES, cc=["dctcp", "dx"]).runs] == ["dctcp", "dx"]


def test_a_scenario_is_also_a_dict_and_anything_else_says_what_to_write():
    with pytest.raises(sh.ScenarioError, match=r'trafic = .*did you mean "traffic"\?'):
        sh.run({**TABLES, "cc": "dctcp", "trafic": []})
    with pytest.raises(sh.ScenarioError, match="scenario = 5: expected a Scenario, a dict of its tables"):
        sh.run(5)
    with pytest.raises(sh.ScenarioError, match="scenario = 5: expected a Scenario, a dict of its tables"):
        sh.sweep(5)


def test_a_scenario_shows_its_own_attributes():
    shown = {name for name in dir(sh.Scenario.load("dctcp-40")) if not name.startswith("_")}
    assert {"traffic", "topology", "cc", "set", "to_toml", "flows", "warnings"} <= shown
    assert not {"model_dump", "dict", "json", "copy", "schema", "parse_obj", "construct"} & shown


@pytest.mark.parametrize("module", ["export", "importers", "settings", "why"])
def test_a_public_module_lists_names_that_it_has(module):
    owner = getattr(sh, module)
    assert (owner.__doc__ or "").strip()
    assert all(getattr(owner, name) is not None for name in owner.__all__)
