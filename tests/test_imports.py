"""Modules do not import each other in cycles, in the Python package or in the Rust crates."""

import re
from pathlib import Path

import pytest

import shallows
from cycles import cycles, python_graph, python_imports, rust_graph, rust_modules

PACKAGE = Path(shallows.__file__).parent
CRATES = Path(__file__).parents[1] / "crates"

ALLOWED = {
    "cc": [
        {"catalog", "sender"},  # the catalog lists the senders, and a sender reads its own row
        {"port", "port::dualpi2", "port::step"},  # a marker and its list of kinds
        {  # one law: each part has its own state and the steps of the law that use it
            f"sender::bbr3::{part}"
            for part in ("aggregation", "ecn", "law", "loss", "probe_bw", "probe_rtt", "startup")
        },
    ],
    "sim": [],
}
"""Groups of modules of a crate that may import each other because they are one concept, with the reason."""

KNOWN = {}
"""Modules that are in a cycle today. Remove a name when its module has left the cycle; do not add one."""


@pytest.mark.parametrize("crate", ["cc", "contract", "live", "sim"])
def test_no_modules_of_a_crate_import_each_other(crate):
    known = set(KNOWN.get(crate, "").split())
    found = cycles(rust_graph(CRATES / crate / "src"))
    wrong = [group for group in found if set(group) not in ALLOWED.get(crate, []) and not set(group) <= known]
    assert not wrong, "\n".join(f"cycle of {len(group)}: {', '.join(group)}" for group in wrong)
    assert not known - {name for group in found for name in group}, (
        "remove names from KNOWN: their cycle is gone"
    )


def test_no_modules_of_the_package_import_each_other():
    found = cycles(python_graph(PACKAGE))
    assert not found, "\n".join(f"cycle of {len(group)}: {', '.join(group)}" for group in found)


MOST = 4
"""The most modules of a cycle with imports inside functions: an answer and the request it came from."""


def test_imports_inside_functions_hide_no_large_cycle():
    found = [group for group in cycles(python_graph(PACKAGE, functions=True)) if len(group) > MOST]
    assert not found, "\n".join(f"cycle of {len(group)}: {', '.join(group)}" for group in found)


def test_no_module_of_the_package_asks_the_package_for_its_public_names():
    """`shallows` imports a public name when it is first used: an import of it would be a hidden cycle."""
    modules = {path.stem for path in PACKAGE.iterdir()}
    public = "|".join({*shallows.__all__, "__version__"} - modules)
    asked = re.compile(rf"^ *(import shallows$|from shallows import .*\b({public})\b)", re.M)
    assert [path for path in PACKAGE.rglob("*.py") if asked.search(path.read_text())] == []


def test_a_cycle_in_python_is_found():
    known = {"shallows.a", "shallows.b"}
    texts = {"shallows.a": "from shallows import b", "shallows.b": "class B:\n    import shallows.a"}
    assert cycles({name: python_imports(text, known) for name, text in texts.items()}) == [sorted(known)]


def test_imports_inside_a_function_count_only_if_asked_for():
    text = "if TYPE_CHECKING:\n    import shallows.b\ndef f():\n    import shallows.a"
    assert python_imports(text, {"shallows.a"}) == set()
    assert python_imports(text, {"shallows.a"}, functions=True) == {"shallows.a"}


def test_a_cycle_in_rust_is_found():
    texts = {
        (): "mod a;\nmod b;",
        ("a",): "use crate::b::{self, B};",
        ("b",): "pub use c::C;\nuse self::c::D;\npub struct B;",
        ("b", "c"): "use super::super::a::A;\npub struct C;",
    }
    assert cycles(rust_modules(texts)) == [["a", "b", "b::c"]]


def test_a_reexport_belongs_to_the_module_that_defines_it():
    texts = {
        ("a",): "use crate::b::C;",
        ("b",): "mod c;\npub use c::C;",
        ("b", "c"): "fn f(x: crate::a::A) {}",
    }
    assert cycles(rust_modules(texts)) == [["a", "b::c"]]
