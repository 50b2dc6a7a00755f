"""Second readers of imported formats: what a file says, found in another way than by the package.

Each returns the content of a file in plain tuples, and the words that it does not know, which a reader has to
name. It raises `ValueError` for a file that means nothing: no reader may accept it.
"""

import json
import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise


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


PETABYTE = 10**15


def flows(text):
    """Flows (src, dst, bytes, start in ps) of the HPCC simulator; 0 bytes are without an end."""
    (count, *_), *rows = lines(text)
    found = []
    for row in rows[: number(count)]:
        src, dst, _, *_, size, start = row
        if len(row) not in (5, 6):
            raise ValueError("columns")
        endless = number(size) > PETABYTE
        found.append((number(src), number(dst), 0 if endless else number(size), round(float(start) * 1e12)))
    if len(found) < number(count):
        raise ValueError("flows")
    rest = [f"{len(rows) - number(count)} lines behind"] if len(rows) > number(count) else []
    rest += ["more than 1 PB"] if any(not size for _, _, size, _ in found) else []
    rest += ["priority groups"] if len({row[2] for row in rows[: number(count)]}) > 1 else []
    return found, rest + (["it announces 0 flows"] if not found else [])


def sizes(text):
    """Points (bytes, share) of a distribution; behind a mean, only the sizes themselves occur."""
    rows = lines(text)
    mean = rows.pop(0) if len(rows[0]) == 1 else []
    points = [tuple(map(float, words)) for words in rows]
    if mean:
        shares = [0.0, *(share for _, share in points)]
        steps = zip(points, shares, strict=False)
        points = [(size, of) for (size, share), before in steps for of in (before, share)]
    if any(len(point) != 2 for point in points) or points != sorted(points):
        raise ValueError("points")
    most = {1.0: 1, 100.0: 100}[points[-1][1]]
    return [(size, share / most) for size, share in points], mean


CONFIG = {
    "RP_TIMER": ("t", 10**6), "RATE_DECREASE_INTERVAL": ("tau", 10**6), "FAST_RECOVERY_TIMES": ("f", 1),
    "RATE_AI": ("r_ai", 10**6), "RATE_HAI": ("r_hai", 10**6), "EWMA_GAIN": ("g", 1),
}  # fmt: skip


def configuration(text):
    """Parameters of DCQCN in SI units times 10^12, or in bit/s, and the payload, of `config.txt`."""
    found, unknown, seen = {}, [], set()
    for words in lines(text):
        key, *values = words
        if key[0] == "{" or key[:2] == "//":
            continue
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
        elif [number(*values)] != [1]:
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
            if re.fullmatch("Ethernet0.[0-7]", key) and "profile" in value and key not in KEYS:
                unknown.append(value["profile"])  # of a queue that is not expressed
            elif key not in KEYS:
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
    # Without the table, groups with headroom are those with PFC.
    (port,) = tables.get("PORT_QOS_MAP", {"": {"pfc_enable": "3"}}).values()
    sizes = buffer.get("xoff", "0"), buffer["static_th"], buffer.get("xon_offset") or buffer["static_th"]
    headroom, threshold, offset = map(int, sizes)
    unknown += ["xon_offset = 0"] if threshold and not offset else []
    least = 1 if threshold else 0
    return [*thresholds, port["pfc_enable"], headroom, threshold, max(offset, least)], unknown


HEADER = {"nodes", "tiers", "podsize"}
TIER = {
    *("downlink_speed_gbps", "radix_down", "radix_up", "queue_down", "queue_up", "oversubscribed", "bundle"),
    *("downlink_latency_ns", "switch_latency_ns"),
}


def fabric(text):
    """Links (end, end, Gbps, ps) of a `.topo` file, whose ends are (tier, number), and its size of queues."""
    tables = [Counter()]
    for key, value in lines(text):
        if key.lower() == "tier":
            tables.append(Counter(tier=number(value)))
        elif key.lower() in tables[-1] or key.lower() not in (TIER if tables[1:] else HEADER):
            raise ValueError(key)
        else:
            tables[-1][key.lower()] = number(value)
    head, *tiers = tables[:1] + sorted(tables[1:], key=lambda table: table["tier"])
    if [tier["tier"] for tier in tiers] != list(range(head["tiers"])) or len(tiers) not in (2, 3):
        raise ValueError("tiers")
    many = [tier.get("bundle", 1) for tier in tiers]
    hosts, pods, racks = tiers[0]["radix_down"], head["nodes"] // head["podsize"], head["podsize"]
    racks, upper = racks // hosts, tiers[0]["radix_up"] // many[1]  # racks and second switches of a pod
    found = [((0, host), (1, host // hosts)) for host in range(head["nodes"])]
    pairs = [(rack, rack // racks * upper + at) for rack in range(pods * racks) for at in range(upper)]
    found += many[1] * [((1, rack), (2, at)) for rack, at in pairs]
    if len(tiers) == 3:
        cores = range(tiers[1]["radix_up"] // many[2])
        pairs = [(at, at % upper + upper * core) for at in range(pods * upper) for core in cores]
        found += many[2] * [((2, at), (3, core)) for at, core in pairs]
    for side, key in ((1, "radix_down"), (0, "radix_up")):
        for (tier, _), links in Counter(link[side] for link in found).items():
            if tier and links != tiers[tier - 1][key]:
                raise ValueError(key)
    rates, ps = [tier["downlink_speed_gbps"] for tier in tiers], []
    for at, (low, high) in enumerate(pairwise(tiers)):
        share = Fraction(low["radix_down"] * rates[at], low["radix_up"] * rates[at + 1])
        if low.get("oversubscribed", share) != share:
            raise ValueError("oversubscribed")
        ps.append(500 * (low["switch_latency_ns"] + high["switch_latency_ns"]))
    ps = [500 * tiers[0]["switch_latency_ns"], *ps]
    ps = [1000 * tier["downlink_latency_ns"] + half for tier, half in zip(tiers, ps, strict=True)]
    queues = {tier[key] for tier in tiers for key in ("queue_up", "queue_down")} - {0}
    found = sorted((*link, rates[link[0][0]], ps[link[0][0]]) for link in found)
    return (found, queues if len(queues) == 1 else set()), ["Queue_Up and Queue_Down"] * (len(queues) > 1)


PARTNER = """{"version": "1"}
{"id": 7, "type": "COMM_RECV_NODE", "attr": [
{"name": "comm_src", "int64Val": 0}, {"name": "comm_tag", "int64Val": 5}]}
{"id": 8, "type": "COMM_COLL_NODE", "dataDeps": [7], "attr": [
{"name": "comm_type", "int64Val": 0}, {"name": "comm_size", "int64Val": 8000}]}
"""
"""The trace of rank 1 beside a damaged one of rank 0."""
NODE = {"id": 0, "name": "", "type": "", "dataDeps": [], "ctrlDeps": [], "durationMicros": 0, "attr": []}
COMPUTES = {"COMP_NODE": 0, "MEM_LOAD_NODE": 2, "MEM_STORE_NODE": 2}


def chakra(text):
    """Computations, messages and the bytes of collectives of a trace of rank 0, and of rank 1 above."""

    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    decoder, unknown, nodes = json.JSONDecoder(object_pairs_hook=once), [], []
    while text := text.strip():
        one, end = decoder.raw_decode(text)
        nodes, text = [*nodes, one], text[end:]
    nodes = [NODE | one for one in nodes if {"id", "type"} & one.keys() or one is not nodes[0]]
    ids, found = {int(node["id"]) for node in nodes}, []
    if len(ids) < len(nodes):
        raise ValueError("ids")
    for node in nodes:
        unknown += set(node) - set(NODE)
        values = {}
        for attribute in node["attr"]:
            kind, content = next(item for item in attribute.items() if item[0] != "name")
            if len(attribute) > 2 or kind not in ("int64Val", "boolVal") or attribute["name"] in values:
                raise ValueError(attribute)
            values[attribute["name"]] = content
        unknown += set(values) - {"comm_dst", "comm_tag", "comm_size", "comm_type", "is_cpu_op"}
        waits = [int(other) for other in [*node["dataDeps"], *node["ctrlDeps"]]]
        unknown += ["dependencies on nodes"] if set(waits) - ids else []
        waits = sorted({*waits} & ids)
        if node["type"] == "COMM_SEND_NODE" and values.get("comm_tag") == 5:
            row = "to", int(values["comm_dst"]), int(values["comm_size"])
        elif node["type"] == "COMM_COLL_NODE" and "comm_type" in values:
            row = "all-reduce", int(values["comm_type"]), int(values["comm_size"])
        else:
            processor = COMPUTES.get(node["type"], 3 if node["type"] == "METADATA_NODE" else None)
            if processor is None and node["type"] != "COMM_COLL_NODE":
                raise ValueError(node["type"])
            row = "for", processor or int(values.get("is_cpu_op") or 0), int(node["durationMicros"]) * 10**6
        found.append((int(node["id"]), *row, waits))
    if sorted(row[1:4] for row in found if row[1] != "for")[:1] != [("all-reduce", 0, 8000)]:
        raise ValueError("the other rank")
    return sorted(found), unknown


FACTORS = {"ALLREDUCE": 2, "ALLGATHER": 1, "REDUCESCATTER": 1, "ALLTOALL": 1}


def workload(text):
    """Rows (rank, ns of a computation, whether the next waits, messages, bytes) of SimAI's workload."""
    (_, *header), (count,), *layers = lines(text)
    keys = [key.removesuffix(":") for key in header[::2]]
    if len(set(keys)) < len(keys) or len(layers) != number(count):
        raise ValueError("header")
    of = dict(zip(keys, map(number, header[1::2]), strict=True))
    tp, ep, gpus = of["model_parallel_NPU_group"], of.get("ep") or 1, of["all_gpus"]
    dp = gpus // (tp * (of.get("pp") or 1))
    unknown = [key for key in ("vpp", "ga", "pp_comm") if of.get(key, 1) > 1]
    unknown += ["times of the updates"] * any(row[11] not in "01" for row in layers)
    unknown += ["dependencies of layers"] * any(row[1] != "-1" for row in layers)
    parts = [(row, 0) for row in layers] + [(row, at) for row in layers[::-1] for at in (1, 2)]
    found = []
    for row, part in parts:
        if len(row) != 12:
            raise ValueError("words")
        ns, name, size = row[2 + 3 * part : 5 + 3 * part]
        amount(row[11], {"": 1})
        kind, _, end = name.partition("_")
        ranks = {"EP": ep, "DP_EP": dp // ep, "": dp if part == 2 else tp}[end]
        size = max(number(size), 4096) if part == 0 and number(size) else number(size)
        if kind == "NONE" or not size:
            ranks = 1
        elif kind == "ALLGATHER":
            size = -(-size // ranks) * ranks
        groups, each = gpus // ranks, FACTORS[kind] * (ranks - 1) if ranks > 1 else 0
        sent = groups * each * ranks, groups * each * max(size, ranks)
        waits = part != 2 and ranks > 1
        found += [(rank, amount(ns, {"": 1000}), waits, *sent) for rank in range(gpus)]
    return found, unknown


def measured(text):
    """Rows (bytes, us) of tables of measured times with headers of two known names, and what is left."""
    header, found, unknown = None, [], []
    for at, line in enumerate(text.splitlines(), 1):
        words = line.replace("#", " ", 1).replace(",", " ").split()
        if re.match(" *[0-9]", line):
            names = [name.lower() for name in header]
            time = next(name for name in names if re.fullmatch("(time|t)(_(ns|us|ms|s))?", name))
            size, us = (float(words[names.index(name)]) for name in ("message", time))
            us *= {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[time.partition("_")[2] or "us"]
            if not (size >= 1 and size % 1 == 0 and 0 < us < float("inf")):
                raise ValueError(line)
            found.append((size, us))
            unknown += [name for name in header if name.lower() not in ("message", time)]
        elif {"message", "size", "bytes"} & {word.lower() for word in words}:
            header = words
        elif header and words and line.strip()[0] != "#" and set(line.strip()) - set("-=_*"):
            unknown.append(str(at))
    if not found:
        raise ValueError("no rows")
    return sorted(found), unknown


def lookup(text):
    """(speed, metres): fields of the headroom that a SONiC device keeps by speed and length."""
    found = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            speed, cable, *fields = words
            if len(fields) not in (4, 5) or not re.fullmatch("[0-9]+[.]?[0-9]*m|[.][0-9]+m", cable):
                raise ValueError(line)
            if found.setdefault((float(number(speed)), float(cable[:-1])), fields) != fields:
                raise ValueError("twice")
    return found, []
