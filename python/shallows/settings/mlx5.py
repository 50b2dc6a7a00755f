"""Translates the DCQCN settings of NVIDIA's NICs into `[cc]` of a scenario, and back.

Reading takes what `mlxconfig query` prints, `NAME=VALUE`, `path:value` as `grep .
/sys/class/net/eth0/ecn/*/*` prints it, and `echo VALUE > path`. Writing gives a shell script with one line
per setting for sysfs, and the line for mlxconfig.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shallows import names, texts
from shallows.errors import ScenarioError
from shallows.settings import nic
from shallows.settings.fragment import Fragment

if TYPE_CHECKING:
    from shallows.algorithm import Algorithm
    from shallows.scenario import Scenario

_LINE = re.compile(
    r"\s*(?:echo\s+(?P<echoed>\S+)\s*>\s*(?P<file>\S+)|(?P<name>[\w./-]+?)\s*(?:=|:|\s)\s*(?P<value>\S+))\s*"
)
_VALUE = re.compile(r"(?:\w+\()?(\d{1,10})\)?")
_CONCERNED = re.compile(r"(rpg|rp|np|dce_tcp)_|clamp_tgt|rate_reduce|initial_alpha|min_time_between")


def fragment(path: Path) -> Fragment:
    """`[cc]` as the settings in a text file give it. Raises `ScenarioError` with the line that is wrong."""
    try:
        found, unknown = _settings(texts.read(path))
    except (OSError, UnicodeDecodeError) as error:
        expected = f"a readable file of NIC settings ({texts.why(error)})"
        raise ScenarioError(None, None, expected, file=path) from None
    except ScenarioError as error:
        raise error.in_file(path) from None
    if not found:
        expected = (
            "DCQCN settings such as rpg_ai_rate, as mlxconfig query or sysfs print them: there are none"
        )
        raise ScenarioError(None, None, expected, file=path)
    return _translated(found, unknown)


def _settings(text: str) -> tuple[dict[str, int], list[str]]:
    """Value by setting, and the names of settings that look like DCQCN's and are not known."""
    found: dict[str, int] = {}
    unknown: list[str] = []
    for number, name, value in _pairs(text):
        setting = nic.find(name)
        if setting is None:
            unknown += [name] * bool(_CONCERNED.match(name.lower()))
            continue
        key = f"line {number}: {name}"
        match = _VALUE.fullmatch(value)
        amount = int(match[1]) if match else -1
        if not setting.least <= amount <= setting.most:
            raise ScenarioError(key, value, setting.expected)
        if found.setdefault(setting.name, amount) != amount:
            raise ScenarioError(
                key, value, f"one value for all ports: {setting.name} is also {found[setting.name]}"
            )
    return found, unknown


def _pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """(number of the line, name, value) of every line, or word of a line, that sets something."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0]
        words = re.findall(r"(\w+)=(\S+)", line)
        if words and not line.lstrip().startswith("echo"):
            yield from ((number, name, value) for name, value in words)
            continue
        match = _LINE.fullmatch(line)
        if match:
            name = match["file"] or match["name"]
            yield number, name.rpartition("/")[2], match["echoed"] or match["value"]


def _translated(found: dict[str, int], unknown: list[str]) -> Fragment:
    from shallows.algorithm import choose
    from shallows.units import Frame

    cc: dict[str, object] = {
        "name": "dcqcn",
        **{name: value for name, value in found.items() if _has_parameter(name)},
    }
    left = [f"{name}: Shallows does not know this setting" for name in unknown]
    for name, value in found.items():
        setting = nic.find(name)
        assert setting is not None
        if setting.here is None and value != setting.modelled:
            left.append(f"{name} = {value}: {setting.remark}")
    frame = Frame(1500, 1460)
    table = choose(cc, frame).table(None)
    tables = {
        "cc": {key: value for key, value in table.items() if key == "name" or key in _parameters(found)}
    }
    missing = sorted(s.name for s in nic.SETTINGS if s.here and s.name not in found)
    assumed = [f"{', '.join(missing)}: the defaults of dcqcn"] if missing else []
    return Fragment(tables, tuple(assumed), tuple(left))


def _has_parameter(name: str) -> bool:
    setting = nic.find(name)
    return setting is not None and setting.here is not None


def _parameters(found: dict[str, int]) -> set[str | None]:
    return {one.here for one in nic.SETTINGS if one.name in found}


_INTERFACE = re.compile(r"(?!\.\.?$)[A-Za-z0-9._@:-]{1,15}")
_DEVICE = re.compile(r"[A-Za-z0-9._:/-]+")


@dataclass(frozen=True)
class Commands:
    """Values by setting, and sentences about what is rounded or has no counterpart."""

    values: dict[str, int]
    rounded: tuple[str, ...] = ()
    not_expressed: tuple[str, ...] = ()

    def script(self, interface: str = "eth0", device: str = "DEVICE") -> str:
        """A shell script that sets sysfs, with the command for firmware as a comment.

        Raises `ScenarioError` for a name that no interface or device has, which the shell could execute.
        """
        if not _INTERFACE.fullmatch(interface):
            expected = "the name of an interface: up to 15 letters, digits and . _ - @ :"
            raise ScenarioError("interface", interface, expected)
        if not _DEVICE.fullmatch(device):
            raise ScenarioError("device", device, "a device of mlxconfig, such as 0000:03:00.0")
        notes = [f"# Rounded: {names.line(text)}\n" for text in self.rounded]
        notes += [f"# Not expressed: {names.line(text)}\n" for text in self.not_expressed]
        folders = {one.name: one.folder for one in nic.SETTINGS}
        lines = [
            f"echo {value} > /sys/class/net/{interface}/ecn/{folders[name]}/{name}\n"
            for name, value in self.values.items()
        ]
        firmware = " ".join(f"{name.upper()}_P1={value}" for name, value in self.values.items())
        return "".join([*notes, *lines, f"# mlxconfig -d {device} set {firmware}\n"])


def commands(scenario: "Scenario") -> Commands:
    """The settings that give the parameters of `dcqcn` in `scenario`. Raises `ScenarioError` without one."""
    used = [one for one in scenario.algorithms if one.name == "dcqcn"]
    if not used:
        names = ", ".join(dict.fromkeys(one.label for one in scenario.algorithms))
        raise ScenarioError("cc.name", names, "dcqcn: these NICs have no settings for other algorithms")
    if any(one.parameters != used[0].parameters for one in used):
        raise ScenarioError("cc", None, "the same parameters of dcqcn in all tables of traffic")
    return _commands(used[0])


def _commands(algorithm: "Algorithm") -> Commands:
    values, rounded = dict[str, int](), list[str]()
    written = algorithm.table(None)
    for setting in nic.SETTINGS:
        if setting.here is None:
            continue
        exact = setting.setting(algorithm.parameters[setting.here])
        value = min(setting.most, max(setting.least, round(exact)))
        values[setting.name] = value
        if not math.isclose(value, exact, rel_tol=1e-9, abs_tol=1e-9):
            unit = f" {setting.unit}" if setting.unit else ""
            rounded.append(f"cc.{setting.here} = {written[setting.here]}: {setting.name} = {value}{unit}")
    left = ["cc.sampled: these NICs notify at the first mark"] if algorithm.parameters["sampled"] else []
    return Commands(values, tuple(rounded), tuple(left))
