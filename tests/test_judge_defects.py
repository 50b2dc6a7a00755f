"""The judge finds planted defects, and not their sound parent.

The numbers of the parent are those of an independent class of the same law: a queue of 85 packets, 167
packets sent into the hole, 57 packets after the losses, a ratio of 9.6, all within their rules.
"""

from pathlib import Path

import pytest

import planted_defects
import shallows as sh

FILE = Path(planted_defects.__file__)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(("name", "family"), planted_defects.PLANTED.items())
def test_each_planted_defect_fails_its_family(name, family, tmp_path):
    found = sh.judge(f"{FILE}:{name}", families=[family], quick=True, out=tmp_path / "page")
    assert [one.family.name for one in found.broken_musts]
    assert found.failures
    assert all("flow" in one.account for one in found.failures)


def test_the_sound_parent_passes_with_the_numbers_of_an_independent_run(tmp_path):
    families = ["D2", "D3", "D4", "D7"]
    found = sh.judge(f"{FILE}:Sound", families=families, quick=True, out=tmp_path / "page")
    assert {one.verdict for one in found.rows} == {"pass"}
    values = {check.check.name: check.values[0] for one in found.rows for check in one.checks}
    assert values["queue"] == pytest.approx(85, rel=0.1)
    assert values["queue, 50 to 70 ms after the losses"] == pytest.approx(57, rel=0.1)
    assert values["packets sent into the hole"] == pytest.approx(167, rel=0.25)
    assert values["goodput, short / long round trip"] == pytest.approx(9.6, rel=0.3)
    assert values["use, 0.3 to 0.8 s after it"] == pytest.approx(0.97, abs=0.05)
