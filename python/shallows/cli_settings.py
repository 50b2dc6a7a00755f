"""KEY=VALUE, as every command's `--set` takes it."""

from shallows.errors import ScenarioError


def settings(texts: list[str] | None, example: str) -> dict[str, str]:
    """`{key: text}` of a list of KEY=VALUE, or of None. Raises `ScenarioError`, which shows `example`."""
    pairs = [text.partition("=") for text in texts or []]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise ScenarioError("--set", key + equals + value, f"KEY=VALUE, such as {example}")
    return {key.strip(): value.strip() for key, _, value in pairs}
