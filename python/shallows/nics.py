"""DCQCN's parameters as NICs of NVIDIA (Mellanox) name them, for engineers who know their values by these.

Names, units and meanings: NVIDIA, "DCQCN CC Parameters" (DOCA SDK). Defaults: what `mlxconfig query` prints
of ConnectX cards. docs/fabrics.md has the table.
"""

from collections.abc import Callable
from dataclasses import dataclass

FRACTION = 1024
"""Shares have ten bits."""


@dataclass(frozen=True)
class Setting:
    """A setting of a NIC, with its unit and default; here a parameter of `dcqcn`, and how a value is written.

    Without a parameter `remark` says why there is none.
    """

    name: str
    unit: str
    default: int
    here: str | None = None
    as_parameter: Callable[[float], str | float] | None = None
    remark: str = ""

    def write(self, value: float) -> str:
        """What a scenario says for `value` there, such as `r_ai = "5Mbps"`."""
        assert self.as_parameter is not None, f"{self.name} has a parameter"
        text = self.as_parameter(value)
        return f'{self.here} = "{text}"' if isinstance(text, str) else f"{self.here} = {text:.10g}"


def _with(unit: str) -> Callable[[float], str]:
    return lambda value: f"{value:g}{unit}"


def _bytes(value: float) -> str:
    return f"{value:.0f}B" if value else "1000000GB"


SETTINGS = (
    Setting("rpg_ai_rate", "Mbit/s", 5, "r_ai", _with("Mbps")),
    Setting("rpg_hai_rate", "Mbit/s", 50, "r_hai", _with("Mbps")),
    Setting("rpg_byte_reset", "B", 32767, "b", _bytes, "0 there: off"),
    Setting("rpg_time_reset", "us", 300, "t", _with("us")),
    Setting("rpg_threshold", "", 1, "f", lambda value: value),
    Setting("rpg_min_rate", "Mbit/s", 1, "min_rate", _with("Mbps")),
    Setting(
        "dce_tcp_g", "1/1024", 1019, "g", lambda value: 1 - value / FRACTION, "there the share that is kept"
    ),
    Setting(
        "dce_tcp_rtt", "us", 1, "tau_prime", _with("us"), "there alpha moves so often, here it decays"
    ),
    Setting("initial_alpha_value", "1/1024", 1023, "alpha", lambda value: value / FRACTION),
    Setting("min_time_between_cnps", "us", 4, "tau", _with("us"), "at the receiver"),
    Setting(
        "rate_reduce_monitor_period", "us", 4, remark="every notification cuts: give the longer of this and "
        "`min_time_between_cnps` as `tau`",
    ),
    Setting("rpg_max_rate", "Mbit/s", 0, remark="the link's rate, as 0 is there"),
    Setting("rate_to_set_on_first_cnp", "Mbit/s", 0, remark="the first cut is as all others, as with 0"),
    Setting("rpg_gd", "log2", 11, remark="a cut is by alpha / 2, as with 11 there"),
    Setting("rpg_min_dec_fac", "%", 50, remark="no cut takes more than half, as with 50 there"),
    Setting("clamp_tgt_rate", "flag", 0, remark="as if on: every cut moves the target (SIGCOMM 2015)"),
    Setting("clamp_tgt_rate_after_time_inc", "flag", 1, remark="as if on: every cut moves the target"),
)  # fmt: skip


def hint(key: str, value: object) -> str:
    """What to write for a setting of a NIC, `; r_ai = "5Mbps" is …`, or nothing where no NIC has `key`.

    Firmware's spelling, RPG_AI_RATE_P1, and the kernel's, rp_ai_rate, are the same setting.
    """
    plain = key.lower().removesuffix("_p1").removesuffix("_p2")
    bare = plain.removeprefix("rp_").removeprefix("np_")
    found = next((one for one in SETTINGS if one.name in (plain, bare, f"rpg_{bare}")), None)
    if found is None:
        return ""
    if found.here is None:
        return f"; a NIC's {found.name} has no parameter here: {found.remark}"
    said = found.write(value) if isinstance(value, int | float) else found.here
    unit = f", in {found.unit}," if found.unit else ""
    return f"; a NIC's {found.name}{unit} is {said} (docs/fabrics.md)"


def table() -> list[str]:
    """The table of docs/fabrics.md, as lines."""
    lines = ["| on the NIC | unit | default there | here | remark |", "|---|---|---|---|---|"]
    for one in SETTINGS:
        here = f"`{one.write(one.default)}`" if one.here else ""
        lines.append(f"| `{one.name}` | {one.unit} | {one.default} | {here} | {one.remark} |")
    return [line.replace("|  |", "| |") for line in lines]
