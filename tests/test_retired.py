"""Names that gave way to standard terms are not defined again."""

from pathlib import Path

import retired

ROOT = Path(__file__).parents[1]
LEFT = Path(__file__).with_name("retired_left.txt")
"""Names that are still defined: `scope name`. Remove a line when its name is gone; do not add one."""

RUST = """
struct A {
    pub(crate) way: u8, // a comment, with held: u8
    more: Vec<(u8, u8)>,
}
enum B { Few(u8), Many { x: u8 } }
fn f() { let a = A { held: 1 }; settle(a); }
const SIDES: u8 = 1;
"""
PYTHON = """
SIDES = 1
class A:
    more: int = 1
    def way(self): held = settle()
"""


def sources():
    rust = [path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts]
    return [*rust, *(ROOT / "python" / "shallows").rglob("*.py")]


def test_no_retired_name_is_defined_again():
    left = {tuple(line.rsplit(" ", 1)) for line in LEFT.read_text().splitlines()}
    there = retired.found(ROOT, sources())
    terms = {(scope, name): term for scope, names, term in retired.RETIRED for name in names.split()}
    again = [
        f"{', '.join(files)} defines {key[1]}: write {terms[key]}"
        for key, files in there.items()
        if key not in left
    ]
    assert not again, "\n".join(again)
    assert not left - set(there), "remove these lines of retired_left.txt: their names are gone"


def test_definitions_are_found():
    rust = retired.defined(Path("one.rs"), RUST)
    assert {"one", "A", "B", "Few", "Many", "way", "more", "f", "SIDES"} <= rust
    assert not {"held", "settle"} & rust
    python = retired.defined(Path("two.py"), PYTHON)
    assert {"two", "A", "way", "more", "SIDES"} <= python
    assert not {"held", "settle"} & python
