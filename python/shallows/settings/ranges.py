"""Ranges of options, such as "2:64" and "1us:100us"."""

from shallows.errors import ScenarioError
from shallows.units import TIME

MOST_FLOWS = 100_000


def counts(text: str, option: str) -> tuple[int, int]:
    """The ends of "2:64"; of "8" it is both. Raises `ScenarioError` with `option`."""
    low, high = _ends(text)
    if not all(end.isdecimal() and 0 < int(end) <= MOST_FLOWS for end in (low, high)) or int(low) > int(high):
        expected = f'numbers of flows from 1 to {MOST_FLOWS}, the smaller one first, such as "2:64" or "8"'
        raise ScenarioError(option, text, expected)
    return int(low), int(high)


def times(text: str, option: str) -> tuple[float, float]:
    """The ends of "1us:100us" in seconds; of "8us" it is both. Raises `ScenarioError` with `option`."""
    try:
        low, high = (TIME.parse(end, least=1) for end in _ends(text))
        if low > high:
            raise ValueError("the shorter time first")
    except ValueError as error:
        raise ScenarioError(option, text, f'times such as "1us:100us" or "8us" ({error})') from None
    return low * 1e-12, high * 1e-12


def _ends(text: str) -> tuple[str, str]:
    low, colon, high = text.partition(":")
    return low, high if colon else low
