"""Generated shell scripts: no text that the user or a file gives becomes a word of the shell."""

import pytest

from shallows.errors import ScenarioError
from shallows.settings.mlx5 import Commands

LINES = Commands(
    values={"rpg_ai_rate": 5},
    rounded={"a": "x\nreboot"},
    equivalent={},
    chosen={},
    not_expressed={"b": "y\rreboot"},
)


@pytest.mark.parametrize(
    "name", ["eth0; reboot #", "$(reboot)", "eth0\nreboot", "a/b", "..", "", "n" * 16, "`x`", "é"]
)
def test_what_is_no_name_of_an_interface_is_refused(name):
    with pytest.raises(ScenarioError, match="interface"):
        LINES.script(name)


@pytest.mark.parametrize("device", ["mt0; reboot", "", "a b", "x\nreboot"])
def test_what_is_no_device_is_refused(device):
    with pytest.raises(ScenarioError, match="device"):
        LINES.script("eth0", device)


@pytest.mark.parametrize("name", ["eth0", "enp3s0f0np0", "bond0.100", "rdma_eth1", "p4p1-a", "n" * 15])
def test_names_of_linux_are_written(name):
    assert f"/sys/class/net/{name}/ecn/" in LINES.script(name)


def test_sentences_stay_comments():
    lines = LINES.script("eth0", "0000:03:00.0").splitlines()
    assert [line for line in lines if not line.startswith(("#", "echo 5 >"))] == []
