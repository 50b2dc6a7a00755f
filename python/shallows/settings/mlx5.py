"""Translates the DCQCN settings of NVIDIA's NICs into `[cc]` of a scenario, and back.

`mlx5_text` finds the settings in a text. Writing gives a shell script with one line per setting for sysfs,
and the line for mlxconfig.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.algorithms import nic
from shallows.base import names, texts
from shallows.errors import ScenarioError
from shallows.settings import mlx5_text
from shallows.settings.fragment import Fragment
from shallows.settings.writing import Held, Notes, rounded
from shallows.units import RATE, SIZE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.scenario import Scenario


def fragment(path: Path, port: str | None = None) -> Fragment:
    """`[cc]` as the settings of a port in a text file give it. Raises `ScenarioError` with the line."""
    try:
        return read(texts.read(path), port)
    except (OSError, UnicodeDecodeError) as error:
        expected = f"a readable file of NIC settings ({texts.why(error)})"
        raise ScenarioError(None, None, expected, file=path) from None
    except ScenarioError as error:
        raise error.in_file(path) from None


def read(text: str, port: str | None = None) -> Fragment:
    """`[cc]` as the settings of a port in a text give it. Raises `ScenarioError` with the line."""
    found, left = mlx5_text.settings(text, port)
    if not found:
        expected = (
            "DCQCN settings such as rpg_ai_rate, as mlxconfig query or sysfs print them: there are none"
        )
        raise ScenarioError(None, None, expected)
    return _translated(found, left)


def _translated(found: dict[str, int], left: list[str]) -> Fragment:
    from shallows.algorithms.algorithm import choose
    from shallows.units import Frame

    known = {one.name: one for one in nic.SETTINGS if one.name in found}
    cc: dict[str, object] = {"name": nic.ALGORITHM}
    for name, one in known.items():
        if one.here:
            cc[name] = found[name]
        elif not one.modelled_at(found[name], found):
            left.append(f"{name} = {found[name]}: {one.remark}")
    here = {one.here for one in known.values()}
    table = choose(cc, Frame(1500, 1460)).table(None)
    tables = {"cc": {key: value for key, value in table.items() if key == "name" or key in here}}
    missing = sorted(one.name for one in nic.SETTINGS if one.here and one.name not in found)
    assumed = [f"{', '.join(missing)}: the defaults of dcqcn, which follow the network"] if missing else []
    return Fragment(tables, tuple(assumed), tuple(left))


_INTERFACE = re.compile(r"(?!\.\.?$)[A-Za-z0-9._@:-]{1,15}")
_DEVICE = re.compile(r"[A-Za-z0-9._:/-]+")


@dataclass(frozen=True, kw_only=True)
class Commands(Notes):
    """Values by setting, and sentences about what differs."""

    values: Mapping[str, int]

    def script(self, interface: str = "eth0", device: str = "DEVICE") -> str:
        """A shell script that sets sysfs, with the command for firmware as a comment.

        Raises `ScenarioError` for a name that no interface or device has, which the shell could execute.
        """
        if not _INTERFACE.fullmatch(interface):
            expected = "the name of an interface: up to 15 letters, digits and . _ - @ :"
            raise ScenarioError("interface", interface, expected)
        if not _DEVICE.fullmatch(device):
            raise ScenarioError("device", device, "a device of mlxconfig, such as 0000:03:00.0")
        folders = {one.name: one.folder for one in nic.SETTINGS}
        lines = [
            f"echo {value} > /sys/class/net/{interface}/ecn/{folders[name]}/{name}\n"
            for name, value in self.values.items()
        ]
        firmware = " ".join(f"{name.upper()}_P1={value}" for name, value in self.values.items())
        notes = [f"# {names.line(line)}\n" for line in self.lines()]
        return "".join([*notes, *lines, f"# mlxconfig -d {device} set {firmware}\n"])


def commands(scenario: "Scenario") -> Commands:
    """The settings with which a NIC behaves like `dcqcn` in `scenario`.

    Raises `ScenarioError` without such an algorithm, and for parameters that the NIC cannot hold.
    """
    used = [one for one in scenario.algorithms if one.name == nic.ALGORITHM]
    if not used:
        labels = ", ".join(dict.fromkeys(one.label for one in scenario.algorithms))
        raise ScenarioError("cc.name", labels, "dcqcn: these NICs have no settings for other algorithms")
    if any(one.parameters != used[0].parameters for one in used):
        raise ScenarioError("cc", None, "the same parameters of dcqcn in all tables of traffic")
    written = _nearest(scenario, used[0])
    stated = read(written.script())
    held = {f"cc.{one.here}": Held(one.name, one.range) for one in nic.SETTINGS if one.here}
    return replace(
        written, rounded=rounded(scenario, stated, held | _byte_counter(scenario, used[0]), written)
    )


def _nearest(scenario: "Scenario", algorithm: "Algorithm") -> Commands:
    """The nearest values that a NIC can hold, and those by which Shallows behaves of its other settings."""
    values, equivalent, left = dict[str, int](), dict[str, str](), dict[str, str]()
    for one in nic.SETTINGS:
        if one.here:
            exact = one.setting(algorithm.parameters[one.here])
            values[one.name] = min(one.most, max(one.least, round(exact)))
    off = _counter_off(scenario, algorithm)
    if off <= algorithm.parameters["b"] < nic.BYTE_RESET_OFF:
        values["rpg_byte_reset"] = 0
        text = SIZE.text(round(algorithm.parameters["b"]))
        equivalent["cc.b"] = (
            f"cc.b = {text}: rpg_byte_reset is 0, off: at the line rate a counter of {SIZE.text(round(off))} "
            f"or more adds at most {nic.FAR:.0%} to the increases of the timer"
        )
        left["cc.r_hai"] = "cc.r_hai: without the byte counter no flow reaches hyper increase"
    for one in nic.SETTINGS:
        behaves = None if one.here else one.behaves(values)
        if behaves is not None:
            values[one.name] = behaves
    if algorithm.parameters["sampled"]:
        left["cc.sampled"] = "cc.sampled: these NICs notify at the first mark"
    return Commands(values=values, rounded={}, equivalent=equivalent, chosen={}, not_expressed=left)


def _counter_off(scenario: "Scenario", algorithm: "Algorithm") -> float:
    return nic.byte_counter_off(_fastest_bps(scenario), algorithm.parameters["t"])


def _fastest_bps(scenario: "Scenario") -> int:
    from shallows.algorithms.defaults import Scale

    return Scale.of(scenario.graph, scenario.mtu).host_bps


def _byte_counter(scenario: "Scenario", algorithm: "Algorithm") -> dict[str, Held]:
    """The values of the byte counter, which include larger ones that are as good as off."""
    (one,) = (setting for setting in nic.SETTINGS if setting.here == "b")
    off, rate = SIZE.text(round(_counter_off(scenario, algorithm))), RATE.text(_fastest_bps(scenario))
    return {"cc.b": Held(one.name, f"{one.range}, and 0, off, for {off} or more at {rate}")}
