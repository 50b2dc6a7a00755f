"""What docs/fabrics.md says of NICs and of collectives."""

from pathlib import Path

import pytest

import shallows as sh
from shallows.algorithms import nic, switch
from shallows.algorithms.algorithm import choose
from shallows.units import Frame

PAGE = Path(__file__).parents[1] / "docs" / "fabrics.md"
SETTINGS = PAGE.with_name("settings.md")


def test_the_pages_have_the_tables():
    assert "\n".join(nic.table()) in PAGE.read_text()
    assert "\n".join(switch.table()) in SETTINGS.read_text()


@pytest.mark.parametrize(
    ("there", "value", "here", "number"),
    [
        ("rpg_ai_rate", 5, "r_ai", 5e6),
        ("RPG_HAI_RATE_P1", 50, "r_hai", 50e6),
        ("rpg_byte_reset", 32767, "b", 32767),
        ("rp_time_reset", 300, "t", 300e-6),
        ("rpg_threshold", 1, "f", 1),
        ("rpg_min_rate", 1, "min_rate", 1e6),
        # 1019 of 1024 are kept: 5 in 1024 are new.
        ("dce_tcp_g", 1019, "g", 5 / 1024),
        ("dce_tcp_rtt", 1, "tau_prime", 1e-6),
        ("initial_alpha_value", 1023, "alpha", 1023 / 1024),
        ("np_min_time_between_cnps", 4, "tau", 4e-6),
    ],
)
def test_a_setting_of_a_nic_is_a_parameter(there, value, here, number):
    algorithm = choose({"name": "dcqcn", there: value}, Frame(1500, 40))
    assert algorithm.parameters[here] == pytest.approx(number, rel=1e-12)


def test_a_setting_without_a_parameter_says_why():
    with pytest.raises(sh.ScenarioError, match=r"no such key.*a decrease is by alpha / 2"):
        choose({"name": "dcqcn", "rpg_gd": 11}, Frame(1500, 40))
    with pytest.raises(sh.ScenarioError, match=r'did you mean "r_ai"\?'):
        choose({"name": "dcqcn", "r_aj": 1}, Frame(1500, 40))


def ring(**keys):
    return sh.Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "20us"},
        cc="dctcp",
        traffic=[{"kind": "all-reduce", "size": "58400B", **keys}],
    )


def test_a_ring_takes_its_steps_one_after_the_other():
    """Four hosts, six steps of a quarter each: ten frames of 1.2 us over two links of 5 us take 23.2 us."""
    flows = sh.run(ring()).flows
    assert len(flows) == 6 * 4
    assert set(flows.bytes) == {58400 // 4}
    # Before each step but the first an ack of the one before may leave: 64 bytes, 51 ns.
    assert (flows.start_us + flows.fct_us).max() == pytest.approx(6 * 23.2, abs=5 * 0.052)
    end = flows.start_us + flows.fct_us
    for number in range(4, 24):
        before = number - 4 + (3 if number % 4 == 0 else -1)
        assert flows.src[number] == flows.dst[before]
        assert flows.start_us[number] == pytest.approx(end[before])
    # Patarasuk and Yuan 2009: each sends 2 (n - 1) / n of its data, to one host only.
    assert (flows.groupby("src").bytes.sum() == 2 * 3 * 58400 // 4).all()
    assert (flows.groupby("src").dst.nunique() == 1).all()


def test_a_ring_goes_round_the_hosts_that_it_names():
    flows = sh.run(ring(hosts=["h2", "h0", "h3"], size="1000B")).flows
    assert set(zip(flows.src, flows.dst, strict=True)) == {("h2", "h0"), ("h0", "h3"), ("h3", "h2")}
    assert set(flows.bytes) == {333, 334}  # thirds
    with pytest.raises(sh.ScenarioError, match="two hosts or more, each once"):
        sh.run(ring(hosts=["h2", "h2"]))
    with pytest.raises(sh.ScenarioError, match="two hosts or more, each once"):
        sh.run(ring(hosts=[1]))
