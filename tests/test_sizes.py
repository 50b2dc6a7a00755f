"""Files of the packet simulator stay short, and a struct with many fields says why it has them."""

import re
from pathlib import Path

SIMULATOR = Path(__file__).parents[1] / "crates" / "sim" / "src"
MOST_LINES, MOST_FIELDS = 400, 12
STRUCT = re.compile(
    r"((?:^[ \t]*(?:///?|#\[)[^\n]*\n)*)^[ \t]*(?:pub(?:\([^)]*\))? )?struct (\w+)[^;{(]*\{\n(.*?)^[ \t]*\}",
    re.MULTILINE | re.DOTALL,
)
FIELD = re.compile(r"^\s+(?:pub(?:\([^)]*\))? )?\w+: ", re.MULTILINE)


def crowded(source):
    """Structs with more than `MOST_FIELDS` fields whose comment does not speak of the fields."""
    return [
        name
        for comment, name, body in STRUCT.findall(source)
        if len(FIELD.findall(body)) > MOST_FIELDS and "field" not in comment
    ]


def test_no_file_of_the_simulator_is_longer_than_a_few_screens():
    lengths = {path: len(path.read_text().splitlines()) for path in SIMULATOR.rglob("*.rs")}
    long = {path.name: lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert not long, f"split these along their parts: {long}"


def test_a_struct_with_many_fields_says_why():
    found = {path.name: names for path in SIMULATOR.rglob("*.rs") if (names := crowded(path.read_text()))}
    assert not found, f"group the fields, or say in the comment why there are so many: {found}"


def test_a_struct_with_many_fields_is_found():
    fields = "".join(f"    pub(crate) field_{i}: u32,\n" for i in range(MOST_FIELDS + 1))
    assert crowded(f"/// A queue.\n#[derive(Debug)]\npub struct Queue<T> {{\n{fields}}}\n") == ["Queue"]
    assert crowded(f"/// A queue. Its fields lie in one line.\nstruct Queue {{\n{fields}}}\n") == []
    assert crowded("struct Small {\n    one: u32,\n}\n") == []
