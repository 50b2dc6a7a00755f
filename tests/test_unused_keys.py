"""Beside shared memory, pauses, trimming or credits, every key changes the request or is refused."""

import pytest

from each import each
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from test_supported_keys import BASE, OTHER, asked

BESIDE = {
    "shared": {"network": {"shared": True}},
    "pfc": {"network": {"pfc": True}},
    "shared and pfc": {"network": {"shared": True, "pfc": True}},
    "trimming": {"network": {"trimming": True}, "cc": "ndp"},
    "credits": {"cc": "expresspass"},
    "no marking": {"cc": "reno"},
}
OWN = {
    "network.pfc.threshold": "55KB",
    "network.pfc.hysteresis": "7KB",
    "network.pfc.headroom": "90KB",
    "network.shared.size": "3MB",
    "network.shared.alpha": 2,
    "network.trimming.queue": 9,
    "network.trimming.headers": "19KB",
    "network.trimming.ratio": 7,
}
CASES = [
    (beside, key)
    for beside, tables in BESIDE.items()
    for key in [*OTHER, *OWN]
    if not (key == "network.pfc" and "pfc" in beside)  # true is what they have
    and (key in OTHER or key.split(".")[1] in tables.get("network", {}))
]


@each(CASES)
def test_a_key_beside_others_changes_the_request_or_is_refused(beside, key):
    plain = Scenario(**(BASE | BESIDE[beside]))
    before = asked(plain, "packet")
    try:
        after = asked(plain.replace({key.removeprefix("top."): (OTHER | OWN)[key]}), "packet")
    except ScenarioError as error:
        refusal = error.expected
    else:
        refusal = None
        assert before != after
    assert refusal is None or len(refusal) > 15  # what to write instead


@pytest.mark.parametrize("value", ["", 0, False, []])
def test_shared_memory_with_a_buffer_of_its_own_is_a_table(value):
    with pytest.raises(ScenarioError, match=r"network\.shared = .*expected a table"):
        Scenario(**BASE | {"network": {"buffer": "shared", "shared": value}})
