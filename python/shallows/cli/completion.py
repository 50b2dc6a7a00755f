"""What a shell completes: names of examples, algorithms with their presets, keys of a scenario.

`shallows --install-completion` teaches a shell to ask for it; files it completes by itself.
"""


def scenarios(incomplete: str) -> list[str]:
    """Examples whose name begins so."""
    from shallows import examples

    return [name for name in examples.names() if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """Algorithms and presets whose name begins so."""
    from shallows import catalog

    names: list[str] = []
    for row in catalog.algorithms():
        names += [row["name"], *(f"{row['name']}@{preset['name']}" for preset in row["presets"])]
    return [name for name in names if name.startswith(incomplete)]


def keys(incomplete: str) -> list[str]:
    """Keys outside of the tables that have kinds, as `--set` and `--over` take them."""
    from shallows.scenario import Scenario

    names: list[str] = []
    for name, field in zip(Scenario.key_names(), Scenario.model_fields.values(), strict=True):
        inside = getattr(field.annotation, "model_fields", None)
        names += [f"{name}.{key}=" for key in inside] if inside else [f"{name}="]
    return [name for name in names if name.startswith(incomplete)]
