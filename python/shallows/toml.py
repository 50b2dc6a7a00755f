"""TOML out. The standard library reads it and does not write it."""


def dumps(tables):
    """TOML text of a scenario: scalars, then tables; what is nested deeper is written inline."""
    scalars = {key: value for key, value in tables.items() if not _is_table(value)}
    lines = [f"{key} = {_inline(value)}" for key, value in scalars.items()]
    for key, value in tables.items():
        if _is_table(value):
            bracket = "[[{}]]" if isinstance(value, list) else "[{}]"
            for table in value if isinstance(value, list) else [value]:
                lines += ["", bracket.format(key)]
                kind_first = sorted(table.items(), key=lambda item: item[0] != "kind")
                lines += [f"{name} = {_inline(cell)}" for name, cell in kind_first]
    return "\n".join(lines) + "\n"


def _is_table(value):
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _inline(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(v) for v in value) + "]"
    return repr(value)


_ESCAPES = {'"': '\\"', "\\": "\\\\"} | {chr(c): f"\\u{c:04x}" for c in [*range(32), 127]}
