"""Shell completion of examples, algorithms, presets and keys of a scenario.

`shallows --install-completion` enables it. The shell completes file names itself.
"""


def scenarios(incomplete: str) -> list[str]:
    """Examples whose name starts with `incomplete`."""
    from shallows.scenario import examples

    return [name for name in examples.names() if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """Algorithms and presets whose name starts with `incomplete`."""
    from shallows import _core

    names: list[str] = []
    for row in _core.catalog():
        names += [row["name"], *(f"{row['name']}@{preset['name']}" for preset in row.get("presets", ()))]
    return [name for name in names if name.startswith(incomplete)]


def keys(incomplete: str) -> list[str]:
    """Keys for `--set` and `--over`, outside of tables with kinds."""
    from shallows.scenario.given import Given

    names: list[str] = []
    for name, field in zip(Given.key_names(), Given.model_fields.values(), strict=True):
        inside = getattr(field.annotation, "model_fields", None)
        names += [f"{name}.{key}=" for key in inside] if inside else [f"{name}="]
    return [name for name in names if name.startswith(incomplete)]
