"""DCQCN's parameters by their names on NVIDIA's NICs, and the values of both in each other's units.

Names, units and meanings: NVIDIA, "DCQCN CC Parameters" (DOCA SDK). Defaults: what `mlxconfig query` prints
of ConnectX cards. Ranges: the widths of the fields of firmware (`tools_open_roce_cc_ecn` of mstflint) and the
ranges of mlxconfig. docs/fabrics.md has the table.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from shallows.base import markdown
from shallows.errors import ScenarioError

ALGORITHM = "dcqcn"
"""The algorithm of NVIDIA's NICs, whose settings these are."""

FRACTION = 1024
"""The denominator of shares, which have ten bits."""
BYTE_RESET_OFF = 10**15
"""Bytes that no flow sends between two decreases: a byte counter that is off."""
FAR = 0.03
"""A setting that differs by more than this share from what a scenario asks for changes its behaviour."""


@dataclass(frozen=True)
class Setting:
    """A setting of a NIC: name, unit, default and range there; parameter of `dcqcn` here.

    scale: SI units of the parameter in one unit of the setting. `to_si` and `from_si` replace it where the
    relation is not a factor. `remark` says what differs, or why there is no parameter; `modelled` is then
    the value by which Shallows behaves, which holds for smaller values too where `at_most` names a setting
    that they may not exceed. `folder` is where the driver keeps the setting.
    """

    name: str
    unit: str
    default: int
    least: int
    most: int
    here: str | None = None
    scale: float = 1.0
    to_si: Callable[[int], float] | None = None
    from_si: Callable[[float], float] | None = None
    remark: str = ""
    folder: str = "roce_rp"
    modelled: int | None = None
    at_most: str | None = None

    def behaves(self, values: Mapping[str, int]) -> int | None:
        """The value of a setting without a parameter by which Shallows behaves, beside these settings.

        None if the setting that it may not exceed is not among them.
        """
        if self.at_most is None or self.modelled is None:
            return self.modelled
        return min(self.modelled, values[self.at_most]) if self.at_most in values else None

    def modelled_at(self, value: int, values: Mapping[str, int]) -> bool:
        """Whether Shallows behaves like a NIC with this value of a setting without a parameter."""
        return value <= values.get(self.at_most, -1) if self.at_most else value == self.modelled

    def value(self, setting: int) -> float:
        """The parameter in SI units for a value of the setting."""
        return self.to_si(setting) if self.to_si else float(setting * Fraction(repr(self.scale)))

    @property
    def expected(self) -> str:
        """What an error says of its values."""
        return f"{self.range}, such as {self.default}"

    @property
    def range(self) -> str:
        """The values that the hardware can hold."""
        unit = f" of {self.unit}" if self.unit else ""
        return f"a whole number{unit} from {self.least} to {self.most}"

    def setting(self, value: float) -> float:
        """The value of the setting, not rounded, for a parameter in SI units."""
        return self.from_si(value) if self.from_si else value / self.scale


def _byte_reset(setting: int) -> float:
    return float(setting or BYTE_RESET_OFF)


def _from_byte_reset(value: float) -> float:
    return 0.0 if value >= BYTE_RESET_OFF else value


def byte_counter_off(rate_bps: float, t_s: float) -> float:
    """Bytes from which a byte counter is as good as off, for hosts of this rate and a timer of `t_s`.

    At the line rate such a counter adds at most `FAR` to the increases of the timer, below it less. Rounded
    up to three digits.
    """
    exact = rate_bps * t_s / 8 / FAR
    digits = 10.0 ** (math.floor(math.log10(exact)) - 2)
    return math.ceil(exact / digits) * digits


MBPS, US = 1e6, 1e-6
WORD = 2**17 - 1
"""The largest rate and time: 17 bits."""
SETTINGS = (
    Setting("rpg_ai_rate", "Mbit/s", 5, 1, WORD, "r_ai", MBPS),
    Setting("rpg_hai_rate", "Mbit/s", 50, 1, WORD, "r_hai", MBPS),
    Setting(
        "rpg_byte_reset", "B", 32767, 0, 32767, "b", to_si=_byte_reset, from_si=_from_byte_reset,
        remark="0 there: off",
    ),
    Setting("rpg_time_reset", "us", 300, 1, WORD, "t", US),
    Setting("rpg_threshold", "", 1, 0, 31, "f"),
    Setting("rpg_min_rate", "Mbit/s", 1, 1, WORD, "min_rate", MBPS),
    Setting(
        "dce_tcp_g", "1/1024", 1019, 0, 1023, "g", to_si=lambda kept: 1 - kept / FRACTION,
        from_si=lambda g: (1 - g) * FRACTION, remark="there the share that is kept",
    ),
    Setting(
        "dce_tcp_rtt", "us", 1, 1, WORD, "tau_prime", US,
        remark="there the period of updates of alpha, here of its decay",
    ),
    Setting("initial_alpha_value", "1/1024", 1023, 0, 1023, "alpha", 1 / FRACTION),
    Setting(
        "min_time_between_cnps", "us", 4, 1, WORD, "tau", US, remark="at the receiver", folder="roce_np"
    ),
    Setting(
        "rate_reduce_monitor_period", "us", 4, 0, WORD, remark="every notification decreases the rate: "
        "give the longer of this and `min_time_between_cnps` as `tau`", modelled=4,
        at_most="min_time_between_cnps",
    ),
    Setting("rpg_max_rate", "Mbit/s", 0, 0, 2**31 - 1, remark="the link's rate", modelled=0),
    Setting(
        "rate_to_set_on_first_cnp", "Mbit/s", 0, 0, WORD, remark="the first decrease is as all others",
        modelled=0,
    ),
    Setting("rpg_gd", "log2", 11, 0, 15, remark="a decrease is by alpha / 2", modelled=11),
    Setting("rpg_min_dec_fac", "%", 50, 1, 100, remark="no decrease takes more than half", modelled=50),
    Setting(
        "clamp_tgt_rate", "flag", 0, 0, 1, "clamp",
        remark="0: only the first decrease after an increase moves the target",
    ),
    Setting(
        "clamp_tgt_rate_after_time_inc", "flag", 1, 0, 1, remark="where `clamp_tgt_rate` is 0, the timer's "
        "increases count too", modelled=1,
    ),
)  # fmt: skip
CNP = {"cnp_dscp", "cnp_802p_prio", "roce_cc_prio_mask", "enable"}
"""Settings of congestion control that concern priorities: here notifications go before all data."""


def without_port(key: str) -> str:
    """The name of a setting without the number of its port, in small letters."""
    return key.lower().removesuffix("_p1").removesuffix("_p2")


def find(key: str) -> Setting | None:
    """The setting that a NIC calls `key`; None where no NIC has it.

    Firmware's spelling, RPG_AI_RATE_P1, and the kernel's, rp_ai_rate, are the same setting.
    """
    lower = without_port(key)
    bare = lower.removeprefix("rp_").removeprefix("np_").replace("after_time_inc", "ati")
    spellings = (lower, bare, f"rpg_{bare}")
    for one in SETTINGS:
        if one.name in spellings or one.name.replace("after_time_inc", "ati") in spellings:
            return one
    return None


def parameter(key: str, value: object) -> tuple[str, float] | None:
    """(parameter of `dcqcn`, its value in SI units) of a key with a NIC's name; None where no NIC has it.

    Raises `ScenarioError` with `key` where the value is impossible or Shallows behaves by another one.
    """
    setting = find(key)
    if setting is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not setting.least <= value <= setting.most:
        raise ScenarioError(key, value, setting.expected)
    if setting.here is None:
        raise ScenarioError(key, value, f"no such key: Shallows has no parameter for it: {setting.remark}")
    return setting.here, setting.value(value)


def table() -> list[str]:
    """The table of docs/settings.md, as lines."""
    rows: list[tuple[str, str, str, str, str]] = []
    for one in SETTINGS:
        as_one = f"as `{one.at_most}` or less" if one.at_most else f"as {one.modelled}"
        here = f"`{one.here}`" if one.here else as_one
        rows.append((f"`{one.name}`", one.unit, str(one.default), here, one.remark))
    return [*markdown.table(("on the NIC", "unit", "default there", "here", "remark"), rows)]
