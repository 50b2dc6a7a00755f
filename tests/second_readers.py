"""Second readers of imported formats: what a file says, found in another way than by the package.

Each returns the content of a file in plain tuples, and the words that it does not know, which a reader has to
name. It raises `ValueError` for a file that means nothing: no reader may accept it.
"""

import json
import re
from collections import defaultdict


def number(word):
    """A whole number in digits."""
    if not re.fullmatch(r"[0-9]+", word):
        raise ValueError(word)
    return int(word)


BITS = {
    "": 1,
    "bps": 1,
    "b/s": 1,
    "Kbps": 1e3,
    "Kb/s": 1e3,
    "Mbps": 1e6,
    "Mb/s": 1e6,
    "Gbps": 1e9,
    "Gb/s": 1e9,
}
TIMES = {"": 1e12, "s": 1e12, "ms": 1e9, "us": 1e6, "ns": 1e3, "ps": 1}


def amount(word, units):
    """A number with one of `units`."""
    match = re.fullmatch(r"\+?([0-9.]+(?:e[+-]?[0-9]+)?)(.*)", word)
    if not match:
        raise ValueError(word)
    digits, unit = match.groups()
    return round(float(digits) * units[unit])


def lines(text):
    """The words of lines that are neither blank nor comments."""
    return [line.split() for line in text.splitlines() if line.split() and line.split()[0][0] != "#"]


def matrix(text):
    """Flows (src, dst, bytes, start in ps, ids of starters, how many of them) of a `.cm` file."""
    flows, triggers, fired, unknown, counts = [], {}, defaultdict(list), [], {}
    for words in lines(text):
        if words[0] in ("Nodes", "Connections", "Triggers"):
            counts[words[0]] = number(words[1])
        elif words[0] == "trigger":
            kind = words[3:]
            triggers[number(words[2])] = 1 if kind == ["oneshot"] else number(kind[2])
        else:
            pairs = dict(zip(words[1::2], words[2::2], strict=True))
            unknown += set(pairs) - {"id", "start", "size", "trigger", "send_done_trigger"}
            ends = [number(end) for end in words[0].split("->")]
            if max(ends) >= counts["Nodes"]:
                raise ValueError("host")
            if "send_done_trigger" in pairs:
                fired[number(pairs["send_done_trigger"])].append(pairs["id"])
            flows.append(
                (*ends, number(pairs["size"]), number(pairs.get("start", "0")), pairs.get("trigger"))
            )
    unknown += [
        key
        for key, of in (("Connections", flows), ("Triggers", triggers))
        if counts.get(key, len(of)) != len(of)
    ]
    found = []
    for src, dst, size, start, trigger in flows:
        by = sorted(fired[number(trigger)]) if trigger else []
        found.append((src, dst, size, start, tuple(by), min(triggers[number(trigger)], len(by)) if by else 0))
    return sorted(found), unknown


def topology(text):
    """Links (end, end, bit/s, ps) of a topology of the HPCC simulator."""
    rows = lines(text)
    nodes, switches, links = map(number, rows[0])
    words = [word for row in rows[1:] for word in row]
    numbers = [number(word) for word in words[:switches]]
    if len(set(numbers)) < switches or max(numbers) >= nodes:
        raise ValueError("switches")
    found = []
    for at in range(switches, switches + 5 * links, 5):
        a, b, rate, delay, error = words[at : at + 5]
        bps, ps = amount(rate, BITS), amount(delay, TIMES)
        if max(number(a), number(b)) >= nodes or not 0 <= float(error) < 1:
            raise ValueError("link")
        found.append((number(a), number(b), bps, ps, float(error)))
    rest = words[switches + 5 * links :]
    return sorted(found), ["all from line"] if rest else []


def flows(text):
    """Flows (src, dst, bytes, start in ps) of the HPCC simulator."""
    (count, *_), *rows = lines(text)
    found = []
    for row in rows[: number(count)]:
        src, dst, _, *_, size, start = row
        if len(row) not in (5, 6):
            raise ValueError("columns")
        found.append((number(src), number(dst), number(size), round(float(start) * 1e12)))
    if len(found) < number(count):
        raise ValueError("flows")
    rest = [f"{len(rows) - number(count)} lines behind"] if len(rows) > number(count) else []
    rest += ["priority groups"] if len({row[2] for row in rows[: number(count)]}) > 1 else []
    return found, rest + (["it announces 0 flows"] if not found else [])


def sizes(text):
    """Points (bytes, share) of a distribution."""
    points = [tuple(map(float, words)) for words in lines(text)]
    if any(len(point) != 2 for point in points) or points != sorted(points):
        raise ValueError("points")
    most = {1.0: 1, 100.0: 100}[points[-1][1]]
    return [(size, share / most) for size, share in points], []


CONFIG = {
    "RP_TIMER": ("t", 10**6), "RATE_DECREASE_INTERVAL": ("tau", 10**6), "FAST_RECOVERY_TIMES": ("f", 1),
    "RATE_AI": ("r_ai", 10**6), "RATE_HAI": ("r_hai", 10**6), "EWMA_GAIN": ("g", 1),
}  # fmt: skip


def configuration(text):
    """Parameters of DCQCN in SI units times 10^12, or in bit/s, and the payload, of `config.txt`."""
    found, unknown, seen = {}, [], set()
    for words in lines(text):
        key, *values = words
        if key in seen:
            unknown.append(key)
        seen.add(key)
        if key in CONFIG:
            (value,) = values
            here, unit = CONFIG[key]
            rate = key.startswith("RATE_") and key != "RATE_DECREASE_INTERVAL"
            found[here] = amount(value, BITS) if rate else round(float(value) * unit, 9)
        elif key == "PACKET_PAYLOAD_SIZE":
            found["payload"] = number(*values)
        elif key not in ("ENABLE_QCN", "CC_MODE"):
            unknown.append(key)
        elif values != ["1"]:
            raise ValueError("another mode")
    return found, unknown


def goal(text):
    """Messages, computations and orders of a schedule in GOAL."""
    found, words, sends, receives = [], text.replace("{", " { ").replace("}", " } ").split(), [], []
    if words[0] != "num_ranks":
        raise ValueError("first word")
    count, words, rank = number(words[1]), words[2:], None
    while words:
        first = words.pop(0)
        label = first.removesuffix(":")
        if first == "rank":
            rank, words = number(words[0]), words[2:]
        elif first == "}":
            rank = None
        elif words[0] == "requires":
            found.append((rank, label, words[1]))
            words = words[2:]
        else:
            kind = words.pop(0) if label != first else first
            label = (
                label
                if label != first
                else f"unnamed{sum(row[0] == rank and len(row) != 3 for row in found)}"
            )
            if kind == "calc":
                found.append((rank, label, amount(words.pop(0), {"": 1000})))
                continue
            size, _, other, *rest = words
            tag = number(rest[1]) if rest[:1] == ["tag"] else 0
            words = rest[2:] if rest[:1] == ["tag"] else rest
            pair = (rank, number(other), tag) if kind == "send" else (number(other), rank, tag)
            {"send": sends, "recv": receives}[kind].append(pair)
            if kind == "send":
                found.append((rank, label, number(other), number(size.removesuffix("b"))))
    if any(sends.count(pair) < receives.count(pair) for pair in receives):
        raise ValueError("no send")
    return sorted(found, key=str), [] if count else ["ranks"]


def table(text):
    """Flows (src, dst, bytes, start in ps) of a CSV file with a unit in its header."""
    header, *rows = [line.split(",") for line in text.splitlines() if line.strip() and line[0] != "#"]
    names = [name.strip().lower() for name in header]
    known = {"src": "src", "dst": "dst", "bytes": "bytes", "size": "bytes"}
    units = {f"start_{unit}": of for unit, of in TIMES.items() if unit} | {"start": 1}
    found = []
    for row in rows:
        cells = {known[name]: cell.strip() for name, cell in zip(names, row, strict=True) if name in known}
        start = sum(
            amount(cell.strip(), {"": units[name]})
            for name, cell in zip(names, row, strict=True)
            if name in units
        )
        found.append(
            (*(number(cells[key].removeprefix("h")) for key in ("src", "dst")), number(cells["bytes"]), start)
        )
    unknown = [name for name, lower in zip(header, names, strict=True) if lower not in {**known, **units}]
    return found, [name.strip() for name in unknown]


NIC = ("rpg_ai_rate", "rpg_hai_rate", "rpg_time_reset", "rpg_threshold", "clamp_tgt_rate")


def nic(text):
    """Settings of a NIC by name, from lines of a name and a value."""
    found, unknown = {}, []
    for line in text.splitlines():
        words = re.sub(r"[*=:]", " ", line.partition("#")[0]).split()
        name = words[0].lower().removesuffix("_p1").removesuffix("_p2") if words else ""
        name = name.replace("rp_", "rpg_", 1) if name.startswith("rp_") else name
        if name in NIC:
            (value,) = words[1:]
            plain = re.fullmatch(r"(?:\w+\()?(0x[0-9a-f]+|[0-9]+)\)?", value, re.IGNORECASE)
            if not plain:
                raise ValueError(value)
            found[name] = int(plain[1], 16 if "x" in plain[1] else 10)
        elif words:
            unknown.append(words[0])
    return found, unknown


KEYS = {
    *("WRED_PROFILE", "QUEUE", "PORT_QOS_MAP", "BUFFER_PROFILE", "BUFFER_PG", "A", "B", "Ethernet0|3"),
    *("Ethernet0", "ecn", "green_min_threshold", "green_max_threshold", "green_drop_probability"),
    *("wred_profile", "pfc_enable", "xoff", "static_th", "xon_offset", "profile"),
}


def switch(text):
    """(kmin, kmax, pmax in per cent, queues with PFC, headroom, threshold, hysteresis) of a SONiC switch."""
    unknown = []

    def known(pairs):
        keys = [key for key, _ in pairs]
        unknown.extend(key for key in keys if keys.count(key) > 1)
        return dict(pairs)

    def name(table):
        for key, value in table.items():
            if key not in KEYS:
                unknown.append(key.split("|")[0])
            elif isinstance(value, dict):
                name(value)

    def of_queue(table):
        return next((fields for key, fields in tables.get(table, {}).items() if key.endswith("|3")), {})

    tables = json.loads(text, object_pairs_hook=known)
    name(tables)
    (only, *_) = tables["WRED_PROFILE"]  # all queues use it where none names one
    wred = tables["WRED_PROFILE"][of_queue("QUEUE").get("wred_profile", only)]
    group = of_queue("BUFFER_PG")
    buffer = tables["BUFFER_PROFILE"][group["profile"]] if "profile" in group else {"static_th": "0"}
    fields = ("min_threshold", "max_threshold", "drop_probability")
    thresholds = [int(wred.get(f"green_{field}", "100")) for field in fields]
    if thresholds[2] == 0 or thresholds[0] == thresholds[1]:  # no marks up to the second, then all
        thresholds = [thresholds[1], thresholds[1], 100]
    (port,) = tables["PORT_QOS_MAP"].values()
    sizes = buffer.get("xoff", "0"), buffer["static_th"], buffer.get("xon_offset") or buffer["static_th"]
    headroom, threshold, offset = map(int, sizes)
    unknown += ["xon_offset = 0"] if threshold and not offset else []
    least = 1 if threshold else 0
    return [*thresholds, port["pfc_enable"], headroom, threshold, max(offset, least)], unknown
