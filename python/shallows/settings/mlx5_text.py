"""Finds the settings of NVIDIA's NICs in what tools print and in scripts.

A line is what `mlxconfig query` prints (one column, or the three of `-e`, with a star at changed settings),
assignments `NAME=VALUE`, `path:value` as `grep . /sys/class/net/eth0/ecn/*/*` prints it, or `echo VALUE >
path`. A line with the name of a setting that has none of these forms is an error; other lines are named.
"""

import re
from collections.abc import Iterator

from shallows.algorithms import nic
from shallows.errors import ScenarioError

_ECHO = re.compile(r"echo\s+(?:-n\s+)?(\S+)\s*(?:>>?|\|\s*(?:sudo\s+)?tee(?:\s+-a)?)\s*([^\s;&|]+)")
_ASSIGNED = re.compile(r"([\w.]+)=([^\s=;&|]+)")
_APART = re.compile(r"\s*([\w./-]+)\s*[:=]\s*(\S+)\s*")
_WORDS = re.compile(r"[\w./-]+")
_VALUE = re.compile(r"(?:\w+\()?(0x[0-9a-fA-F]{1,8}|\d{1,10})\)?")
_CONCERNED = re.compile(r"(rpg|rp|np|dce_tcp)_|clamp_tgt|rate_reduce|initial_alpha|min_time_between")
_PORT = re.compile(r"/net/([^/]+)/|_P([12])$", re.IGNORECASE)
_COLUMNS = ("Default", "Current", "Next Boot")
"""The columns of `mlxconfig -e query`: what the NIC uses now is the second."""
SHOWN = 6
"""Names of other settings that a sentence lists."""

Pair = tuple[str, str]
"""Name and value, as texts."""


def settings(text: str, port: str | None = None) -> tuple[dict[str, int], list[str]]:
    """Value by setting, and sentences about lines that are left out. Raises `ScenarioError` with the line.

    port: the one that stands for all, `P1` or `P2` of mlxconfig or an interface of sysfs, if the text has it.
    """
    found: dict[str, int] = {}
    unknown: list[str] = []
    others: dict[str, None] = {}
    ports = {_port(name) for line in text.splitlines() for name in _WORDS.findall(line)} - {""}
    chosen = port.upper() if port and port.upper() in ports else port
    if chosen in ports and len(ports) > 1:
        unknown.append(f"{', '.join(sorted(ports - {chosen}))}: {chosen} stands for all ports")
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.partition("#")[0].replace('"', " ").replace("'", " ")
        pairs = list(_pairs(number, plain, unknown))
        names = {_last(name).lower() for name, _ in pairs}
        for word in _WORDS.findall(plain):
            if nic.find(_last(word)) and _last(word).lower() not in names:
                expected = f"{_last(word)} with a value, as mlxconfig, sysfs or NAME=VALUE give it"
                raise ScenarioError(f"line {number}", line.strip(), expected)
        for name, value in pairs:
            if chosen in ports and _port(name) not in ("", chosen):
                continue
            _take(found, unknown, others, f"line {number}: {_last(name)}", (_last(name), value))
        if plain.strip() and not pairs:
            others[" ".join(plain.split())] = None
    if others:
        listed = list(others)
        more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        unknown.append(f"{', '.join(listed[:SHOWN])}{more}: not settings of DCQCN")
    return found, unknown


def _take(found: dict[str, int], unknown: list[str], others: dict[str, None], key: str, pair: Pair) -> None:
    name, value = pair
    setting = nic.find(name)
    if setting is None:
        bare = nic.without_port(name)
        if bare in nic.CNP:
            unknown.append(f"{name} = {value}: notifications go before all data here")
        elif _CONCERNED.match(bare):
            unknown.append(f"{name} = {value}: Shallows does not know this setting")
        else:
            others[name] = None
        return
    match = _VALUE.fullmatch(value)
    amount = int(match[1], 0 if match[1].startswith("0x") else 10) if match else -1
    if not setting.least <= amount <= setting.most:
        raise ScenarioError(key, value, setting.expected)
    if found.setdefault(setting.name, amount) != amount:
        raise ScenarioError(
            key,
            value,
            f"one value for all ports: {setting.name} is also {found[setting.name]}; --port P1, or --port "
            "and an interface, chooses",
        )


def _pairs(number: int, line: str, left: list[str]) -> Iterator[Pair]:
    """The settings of a line. What a line with columns says of the next boot is added to `left`."""
    echoed = _ECHO.findall(line)
    assigned = _ASSIGNED.findall(line)
    apart = _APART.fullmatch(line)
    words = line.split()
    if words[:1] == ["*"]:
        words = words[1:]
    if echoed:
        yield from ((path, value) for value, path in echoed)
    elif assigned:
        yield from assigned
    elif apart:
        yield apart[1], apart[2]
    elif len(words) == 2:
        yield words[0], words[1]
    elif len(words) == 1 + len(_COLUMNS) and nic.find(words[0]):
        name, _, current, boot = words
        if boot != current:
            left.append(f"{name} = {boot} from the next boot on: the NIC uses {current} now")
        yield name, current


def _port(name: str) -> str:
    """The port of a setting's name, `P2` or an interface; empty if it has none."""
    match = _PORT.search(name)
    return "" if not match or not nic.find(_last(name)) else match[1] or f"P{match[2]}"


def _last(name: str) -> str:
    return name.rpartition("/")[2]
