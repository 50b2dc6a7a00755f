"""Configurations of the HPCC simulator and its forks (`config.txt`): switches, transport and algorithm.

A line is `KEY VALUE…`, with remarks behind `#` or in braces, and the last of repeated keys counts. Lines that
begin with `#`, `//` or `{` are remarks too: the simulator skips words that it does not know. The topology,
the flows and the traced nodes are in files that it names.

| key | becomes |
|---|---|
| PACKET_PAYLOAD_SIZE | `network.mtu` and `header`: 48 B, with INT 90 B, with time stamps 56 B |
| BUFFER_SIZE, in MiB | `network.shared`: without 4 KiB a port and the headroom of 3 x delay x rate a link |
| ENABLE_PFC, by default 1 | `network.pfc`: the threshold is an eighth of the free memory |
| KMIN_MAP, KMAX_MAP, in KB; PMAX_MAP | `network.marking`, by rate of the port, as a packet leaves |
| CC_MODE | 1: `dcqcn`, 3: `hpcc-roce`, 7: `timely`, with their parameters |
| HAS_WIN, VAR_WIN, GLOBAL_T, L2_ACK_INTERVAL | the window and the acknowledgements of `dcqcn` |
| ENABLE_IRN | `hosts.retransmission = "selective"` |
| ERROR_RATE_PER_LINK, LINK_DOWN | `[[faults]]` |
| SIMULATOR_STOP_TIME, in seconds | `duration` |

Sources: scratch/third.cc, switch-mmu.cc, custom-header.cc and rdma-hw.cc of
github.com/alibaba-edu/High-Precision-Congestion-Control; scratch/third.cc of github.com/bobzhuyb/ns3-rdma,
whose configurations have CNP_INTERVAL, BYTE_COUNTER, KMIN, KMAX and PMAX.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from shallows.algorithms.algorithm import choose
from shallows.algorithms.nic import BYTE_RESET_OFF
from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.importers.content import Parts, Reference, Settings
from shallows.importers.hpcc import RATES, quantity
from shallows.importers.source import Source, Word
from shallows.units import RATE, SIZE, TIME, Frame


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILES = {"TOPOLOGY_FILE": "topology", "FLOW_FILE": "flows"}
"""Keys that name a file, and the part of a scenario that it has."""
MODES = {1: "dcqcn", 3: "hpcc-roce", 7: "timely"}
"""Algorithms by CC_MODE."""
MODES_EXPECTED = ", ".join(f"{mode} ({name})" for mode, name in MODES.items()) + "; others need --cc NAME"
"""What an error says of other modes."""
OTHERS = {4: "PowerTCP", 8: "DCTCP over RoCE", 10: "HPCC-PINT", 11: "HPCC-PINT"}
HEADER, INT, STAMP = 48, 42, 8
"""Bytes of a frame beside the payload; of INT records for CC_MODE 3, and of a time stamp for CC_MODE 7."""
RESERVED, HYSTERESIS = 4 * 1024, 3 * 1024
"""Bytes that a port has of its own, and bytes below the threshold at which a pause ends."""
OUTPUTS = _keys(
    "TRACE_FILE TRACE_OUTPUT_FILE FCT_OUTPUT_FILE PFC_OUTPUT_FILE CNP_OUTPUT_FILE EST_ERROR_OUTPUT_FILE "
    "QLEN_MON_FILE QLEN_MON_START QLEN_MON_END QLEN_MON_INTERVAL BW_MON_FILE BW_MON_INTERVAL RATE_MON_FILE "
    "CNP_MON_FILE QP_MON_INTERVAL MON_START MON_END ENABLE_TRACE SW_MONITORING_INTERVAL "
    "VOQ_MON_FILE VOQ_MON_DETAIL_FILE UPLINK_MON_FILE CONN_MON_FILE QLEN_MON_INTERVAL"
)
"""Keys of the files that the simulator writes, and of the times at which it samples."""
ALGORITHMS = {
    "dcqcn": _keys(
        "ALPHA_RESUME_INTERVAL RATE_DECREASE_INTERVAL CLAMP_TARGET_RATE RP_TIMER EWMA_GAIN "
        "FAST_RECOVERY_TIMES RATE_AI RATE_HAI MIN_RATE KMIN_MAP KMAX_MAP PMAX_MAP"
    ),
    "hpcc-roce": _keys("RATE_AI MIN_RATE U_TARGET MI_THRESH INT_MULTI MULTI_RATE SAMPLE_FEEDBACK FAST_REACT"),
    "timely": _keys("RATE_AI RATE_HAI MIN_RATE TIMELY_T_HIGH TIMELY_T_LOW TIMELY_BETA"),
    "others": _keys("DCTCP_RATE_AI PINT_LOG_BASE PINT_PROB"),
}
"""Keys that act on each algorithm."""
PARAMETERS = {
    "dcqcn": (
        ("tau", "RATE_DECREASE_INTERVAL", "us"), ("tau", "CNP_INTERVAL", "us"),
        ("tau_prime", "ALPHA_RESUME_INTERVAL", "us"), ("t", "RP_TIMER", "us"),
        ("g", "EWMA_GAIN", "number"), ("g", "DCTCP_GAIN", "number"), ("f", "FAST_RECOVERY_TIMES", "count"),
        ("b", "BYTE_COUNTER", "B"), ("r_ai", "RATE_AI", "rate"), ("r_hai", "RATE_HAI", "rate"),
        ("min_rate", "MIN_RATE", "rate"), ("clamp", "CLAMP_TARGET_RATE", "flag"),
        ("has_win", "HAS_WIN", "flag"), ("var_win", "VAR_WIN", "flag"),
        ("ack_interval", "L2_ACK_INTERVAL", "B"),
    ),
    "hpcc-roce": (("eta", "U_TARGET", "number"), ("max_stage", "MI_THRESH", "count")),
    "timely": (
        ("t_low", "TIMELY_T_LOW", "ns"), ("t_high", "TIMELY_T_HIGH", "ns"),
        ("beta", "TIMELY_BETA", "number"), ("delta", "RATE_AI", "rate"), ("min_rate", "MIN_RATE", "rate"),
    ),
}  # fmt: skip
"""The parameters of each algorithm: name, key of the file, and its unit or kind."""
TIMES = {"us": 10**6, "ns": 10**3}
"""Units of times in picoseconds."""
BEHAVIOUR = {
    "L2_BACK_TO_ZERO": ("0", "a loss repeats all from the lost packet on (go-back-N)"),
    "L2_ACK_INTERVAL": ("1", "every packet is acknowledged"),
    "L2_WAIT_FOR_ACK": ("0", "no chunk waits for the acknowledgement of the one before"),
    "L2_CHUNK_SIZE": (None, "acts with L2_BACK_TO_ZERO and L2_ACK_INTERVAL only"),
    "USE_DYNAMIC_PFC_THRESHOLD": ("1", "the threshold of a pause follows the free memory"),
    "PAUSE_TIME": (None, "a pause lasts until the switch resumes the link"),
    "HAS_WIN": ("0", "a rate alone limits TIMELY; HPCC has a window of rate x base RTT"),
    "VAR_WIN": ("0", "the same as HAS_WIN"),
    "RATE_BOUND": ("1", "senders pace"),
    "ACK_HIGH_PRIO": ("1", "with PFC acknowledgements go before data"),
    "FAST_REACT": ("1", "HPCC reacts to each acknowledgement"),
    "MULTI_RATE": ("0", "HPCC has one rate for all hops"),
    "SAMPLE_FEEDBACK": ("0", "every packet carries INT"),
    "INT_MULTI": ("1", "records have no unit"),
    "CLAMP_TARGET_RATE_AFTER_TIMER": ("1", "without CLAMP_TARGET_RATE the timer's increases count"),
    "NP_SAMPLING_INTERVAL": ("0", "the receiver answers a mark at once"),
    "PACKET_LEVEL_ECMP": ("0", "one path for each flow"),
    "FLOW_LEVEL_ECMP": ("1", "one path for each flow"),
    "LB_MODE": ("0", "one path for each flow (ECMP): write network.balancing"),
    "SEND_IN_CHUNKS": ("0", "a flow sends all its data"),
}
"""Keys without a counterpart: the value by which Shallows behaves (None: none), and how it behaves."""
REMARKS = ("#", "//", "{")
"""How lines of remarks begin."""
_KEY = re.compile(r"[A-Z][A-Z0-9_]+")
_COUNTED = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
_PATTERN_BYTES = 4096


def recognises(path: Path) -> bool:
    """Whether the first line of a text file has a key of a configuration, and a value."""
    try:
        with path.open("rb") as file:
            head = file.read(_PATTERN_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    lines = (line.split() for line in head.splitlines())
    words = next((words for words in lines if words and not words[0].startswith(REMARKS)), list[str]())
    return len(words) > 1 and words[0] in KNOWN


def read(path: Path) -> Parts:
    """The settings of a configuration, and the files that it names. Raises `ScenarioError` with the line."""
    return _Reader(Source(path)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: dict[str, list[Word]] = {}
        self.used: set[str] = set()
        self.assumed: list[str] = []
        self.left: list[str] = []
        for row in source.rows():
            if not row[0].text.startswith(REMARKS):
                self._enter(row)

    def _enter(self, row: list[Word]) -> None:
        key = row[0]
        if not _KEY.fullmatch(key.text):
            self.source.refuse(key, "line", "KEY VALUE, as a config.txt of the HPCC simulator has them")
        end = next((at for at, word in enumerate(row) if word.text[0] in "{#"), len(row))
        if end == 1:
            self.source.refuse(self.source.after(row[:1]), key.text, "a value on this line")
        if key.text in self.rows:
            self.left.append(
                f"line {self.rows[key.text][0].line}, {key.text}: line {key.line} repeats it, and counts"
            )
        self.rows[key.text] = row[:end]

    def read(self) -> Parts:
        self._check_counts()
        mode = self._mode()
        network, faults = self._network(mode), self._faults()
        tables: dict[str, object] = {"network": network}
        if self._flag("ENABLE_IRN", False):
            tables["hosts"] = {"retransmission": "selective"}
        if self._has("SIMULATOR_STOP_TIME"):
            tables["duration"] = self._duration()
        algorithm = self._algorithm(mode)
        references = [self._reference(key, what) for key, what in FILES.items() if key in self.rows]
        settings = Settings(
            tables,
            algorithm,
            self.source,
            *(
                self.rows[key][1] if key in self.rows else None
                for key in ("CC_MODE", "LINK_DOWN", "BUFFER_SIZE")
            ),
            down=faults,
            buffer=self._buffer(),
            rate_ai=self._rate_ai(mode),
            one_rtt=self._flag("GLOBAL_T", True),
            error_rate=self._error_rate(),
            traced=[Path(self.rows["TRACE_FILE"][1].text).name] if "TRACE_FILE" in self.rows else [],
        )
        self._name_the_rest(mode)
        return Parts(settings=settings, references=references, assumed=self.assumed, left_out=self.left)

    def _has(self, key: str) -> bool:
        if key in self.rows:
            self.used.add(key)
        return key in self.rows

    def _word(self, key: str) -> Word:
        self.used.add(key)
        return self.rows[key][1]

    def _whole(self, key: str, default: int, most: int = 2**31 - 1) -> int:
        return self.source.whole(self._word(key), key, 0, most) if self._has(key) else default

    def _flag(self, key: str, default: bool) -> bool:
        return bool(self._whole(key, int(default), 1))

    def _number(self, key: str, expected: str = "a number of at least 0") -> float:
        return float(self.source.number(self._word(key), key, expected))

    def _rate(self, key: str) -> int:
        return quantity(self.source, self._word(key), key, RATES, "a rate such as 50Mb/s", limits.RATE)

    def _check_counts(self) -> None:
        """Refuse more or fewer values than a known key has; the simulator skips more rates than announced."""
        for key, row in self.rows.items():
            if key in _COUNTED:
                wanted = 1 + 2 * self.source.whole(row[1], key, 1, 1000)
                if len(row) - 1 > wanted:
                    skipped = " ".join(word.text for word in row[wanted + 1 :])
                    self.left.append(f"{key}: {skipped} behind the {row[1].text} rates that it announces")
                    del row[wanted + 1 :]
            else:
                wanted = 3 if key == "LINK_DOWN" else 1 if key in KNOWN else len(row) - 1
            if len(row) - 1 != wanted:
                word = row[wanted + 1] if len(row) > wanted + 1 else self.source.after(row)
                self.source.refuse(word, key, f"{wanted} value{'s' * (wanted > 1)}, not {len(row) - 1}")

    def _mode(self) -> str | None:
        """The algorithm; None of a CC_MODE that has none here."""
        number = self._whole("CC_MODE", 1)
        if number in MODES:
            return MODES[number]
        other = f" ({OTHERS[number]})" if number in OTHERS else ""
        self.left.append(f"CC_MODE {number}{other}: another algorithm is used")
        return None

    def _network(self, mode: str | None) -> dict[str, object]:
        network: dict[str, object] = {}
        if self._has("PACKET_PAYLOAD_SIZE"):
            header = HEADER + {"hpcc-roce": INT, "timely": STAMP}.get(mode or "", 0)
            payload = self.source.whole(
                self._word("PACKET_PAYLOAD_SIZE"), "PACKET_PAYLOAD_SIZE", 1, limits.FRAME.most - header
            )
            network |= {"mtu": SIZE.text(payload + header), "header": SIZE.text(header)}
        if self._flag("ENABLE_PFC", True):
            network["pfc"] = {"hysteresis": SIZE.text(HYSTERESIS)}
            self.assumed.append(
                "headroom is what each link needs; the HPCC simulator takes 3 x delay x rate, too little for "
                "short links"
            )
        if self._flag("ENABLE_QCN", True):
            marking = self._marking()
            if marking and mode in ("dcqcn", None):
                network["marking"] = marking
            elif marking:
                self.left.append(f"KMIN_MAP, KMAX_MAP, PMAX_MAP: {mode} reads no marks")
        elif mode == "dcqcn":
            network["marking"] = "none"
        return network

    def _marking(self) -> dict[str, object] | None:
        if all(key in self.rows for key in ("KMIN", "KMAX", "PMAX")):
            sizes = {key.lower(): SIZE.text(self._whole(key, 0) * 1000) for key in ("KMIN", "KMAX")}
            return {"kind": "red", **sizes, "pmax": self._share(self._word("PMAX"), "PMAX"), "at": "dequeue"}
        if not all(key in self.rows for key in _COUNTED):
            return None
        kmin, kmax, pmax = (self._map(key) for key in _COUNTED)
        shares = {rate: self._share(word, "PMAX_MAP") for rate, word in pmax.items()}
        first = next(iter(shares.values()))
        if len(set(shares.values())) > 1:
            others = ", ".join(f"{share:g} at {RATE.text(rate)}" for rate, share in shares.items())
            self.left.append(f"PMAX_MAP: {others}: a marking has one pmax, {first:g}")
        sizes = {
            key: {
                RATE.text(rate): SIZE.text(self.source.whole(word, key, 0, 10**9) * 1000)
                for rate, word in table.items()
            }
            for key, table in (("kmin", kmin), ("kmax", kmax))
        }
        return {"kind": "red", **sizes, "pmax": first, "at": "dequeue"}

    def _share(self, word: Word, key: str) -> float:
        """A share of packets, above 0 and at most 1."""
        share = float(self.source.number(word, key, expected := "a share above 0 and at most 1"))
        if not 1e-9 <= share <= 1:
            self.source.refuse(word, key, expected)
        return share

    def _map(self, key: str) -> dict[int, Word]:
        """A value for each rate of a port."""
        self.used.add(key)
        row = self.rows[key][2:]
        rates = [self.source.whole(word, key, 1, limits.LINK_RATE.most) for word in row[::2]]
        return dict(zip(rates, row[1::2], strict=True))

    def _buffer(self) -> int | None:
        """The memory of a switch in bytes."""
        return self._whole("BUFFER_SIZE", 0, 10**6) * 2**20 if self._has("BUFFER_SIZE") else None

    def _rate_ai(self, mode: str | None) -> int | None:
        """The additive step of HPCC in bit/s, whose bytes follow from the base RTT of the network."""
        return self._rate("RATE_AI") if mode == "hpcc-roce" and self._has("RATE_AI") else None

    def _error_rate(self) -> float:
        return self._number("ERROR_RATE_PER_LINK") if self._has("ERROR_RATE_PER_LINK") else 0.0

    def _faults(self) -> list[tuple[int, int, int]]:
        """(time in ps, node, node) of the link that goes down: so long after the second second."""
        if not self._has("LINK_DOWN"):
            return []
        at, *ends = (self.source.whole(word, "LINK_DOWN", 0) for word in self.rows["LINK_DOWN"][1:])
        return [(2 * 10**12 + at * 10**6, ends[0], ends[1])] if at else []

    def _duration(self) -> str:
        seconds = self.source.number(self._word("SIMULATOR_STOP_TIME"), "SIMULATOR_STOP_TIME", "seconds")
        if seconds * 10**12 < 1:
            self.source.refuse(self._word("SIMULATOR_STOP_TIME"), "SIMULATOR_STOP_TIME", "seconds above 0")
        if seconds * 10**12 > limits.TIME.most:
            self.assumed.append(f"SIMULATOR_STOP_TIME {seconds}: the run ends when all flows have ended")
            return "until-done"
        return TIME.text(round(seconds * 10**12))

    def _algorithm(self, mode: str | None) -> dict[str, object] | None:
        """The table of `cc`."""
        if mode is None:
            return None
        off = {"b": SIZE.text(BYTE_RESET_OFF)} if mode == "dcqcn" else {}
        table: dict[str, object] = {"name": mode, **off}
        for name, key, unit in PARAMETERS[mode]:
            if self._has(key):
                table[name] = self._within(mode, name, key, self._parameter(key, unit))
        if not table.get("has_win"):
            table.pop("var_win", None)
        if mode == "timely" and "RATE_AI" in self.rows and self._has("RATE_HAI") and self._rate("RATE_AI"):
            steps = max(1, round(self._rate("RATE_HAI") / self._rate("RATE_AI")))
            table["hai"] = self._within(mode, "hai", "RATE_HAI", steps)
        return table

    def _parameter(self, key: str, unit: str) -> object:
        """The value of a key of the file, as the table of `cc` has it."""
        if unit in TIMES:
            return TIME.text(self.source.time(self._word(key), key, TIMES[unit], unit))
        if unit == "rate":
            return RATE.text(self._rate(key))
        if unit == "number":
            return self._number(key)
        if unit == "flag":
            return self._flag(key, default=True)
        return SIZE.text(self._whole(key, 0)) if unit == "B" else self._whole(key, 0)

    def _within(self, mode: str, name: str, key: str, value: object) -> object:
        """The value of a parameter; one that the algorithm does not allow is refused where it stands."""
        try:
            choose({"name": mode, name: value}, Frame(1, 1))
        except ScenarioError as error:
            self.source.refuse(self._word(key), key, f"for {name} of {mode} {error.expected}")
        return value

    def _reference(self, key: str, what: str) -> Reference:
        return Reference(key, what, self._word(key), self.source)

    def _name_the_rest(self, mode: str | None) -> None:
        """Say of every key that was not used why."""
        rest = [key for key in self.rows if key not in self.used]
        outputs = [key for key in rest if key in OUTPUTS]
        if outputs:
            self.left.append(f"{', '.join(outputs)}: outputs of the simulator (see shallows export --fct)")
        acting = ALGORITHMS.get(mode or "", frozenset())
        of_others = {key for name, keys in ALGORITHMS.items() if name != mode for key in keys} - acting
        idle = [key for key in rest if key in of_others]
        if idle:
            self.left.append(f"{', '.join(idle)}: of other algorithms than {mode or 'this CC_MODE'}")
        for key in rest:
            if key in outputs or key in idle:
                continue
            text = " ".join(word.text for word in self.rows[key][1:])
            same, behaviour = BEHAVIOUR.get(key, (None, "no key of a scenario expresses it"))
            if text != same:
                self.left.append(f"{key} {text}: {behaviour}")


KNOWN = frozenset({*FILES, *OUTPUTS, *BEHAVIOUR}).union(
    *ALGORITHMS.values(),
    _keys(
        "GLOBAL_T ENABLE_QCN ENABLE_PFC ENABLE_IRN CC_MODE PACKET_PAYLOAD_SIZE BUFFER_SIZE LINK_DOWN KMIN "
        "KMAX PMAX ERROR_RATE_PER_LINK SIMULATOR_STOP_TIME CNP_INTERVAL BYTE_COUNTER DCTCP_GAIN "
        "TCP_FLOW_FILE APP_START_TIME APP_STOP_TIME FLOWGEN_START_TIME FLOWGEN_STOP_TIME MAX_RATE FIXED_WIN "
        "BASE_RTT FLOW_ON_PATH_FILE FLOW_PATH_MAP_FILE"
    ),
)
"""All keys that the simulator and its forks have; others are named."""


def remaining(buffer: int, ports: Mapping[str, list[tuple[int, int]]]) -> int:
    """Bytes that all ports of the fullest switch share: `ports` has the (rate, delay) of each by switch."""
    used = [
        sum(RESERVED + 3 * rate * delay // (8 * 10**12) for rate, delay in links) for links in ports.values()
    ]
    return buffer - max(used, default=0)
