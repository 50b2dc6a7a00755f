"""Names that gave way to standard terms are not defined again."""

from pathlib import Path

import retired

ROOT = Path(__file__).parents[1]
LEFT = Path(__file__).with_name("retired_left.txt")
"""Names that are still defined: `scope name`. Remove a line when its name is gone; do not add one."""


def sources():
    rust = "struct A {\n    pub way: u8,\n    more: Vec<(u8, u8)>,\n}\nenum B { Few(u8), Many { x: u8 } }"
    return [*rust, *(ROOT / "python" / "shallows").rglob("*.py")]


def test_no_retired_name_is_defined_again():
    left = {tuple(line.rsplit(" ", 1)) for line in LEFT.read_text().splitlines()} if LEFT.exists() else set()
    there = retired.found(ROOT, sources())
    terms = {(scope, name): term for scope, names, term in retired.RETIRED for name in names.split()}
    again = [
        f"{', '.join(files)} defines {key[1]}: write {terms[key]}"
        for key, files in there.items()
        if key not in left
    ]
    assert not again, "\n".join(again)


def test_definitions_are_found(tmp_path):
    rust = (
        "struct A {\n    pub(crate) way: u8,\n    more: Vec<(u8, u8)>,\n}\nenum B { Few(u8), Many { x: u8 } }"
    )
    call = "fn f() { let a = A { held: 1 }; settle(a); }\nconst SIDES: u8 = 1;"
    python = "SIDES = 1\nclass A:\n    key: int = 1\n    def way(self): held = settle()"
    for name, text in (("one.rs", rust + "\n" + call), ("two.py", python)):
        path = tmp_path / name
        names = retired.defined(path, text)
        assert {"A", "way", "SIDES", path.stem} <= names
        assert not {"held", "settle"} & names
    assert {"Few", "Many", "more"} <= retired.defined(tmp_path / "one.rs", rust)
