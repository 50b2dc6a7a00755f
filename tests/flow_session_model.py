"""A model of the protocol simllm-htsim-flow-session-v1, written apart from `crates/session`.

It knows when flows arrive from whole runs of the packet world. `Model.answer` gives the answer to a body
without its `message`, and `sequence` draws frames, right and wrong, with the answers to all of them.
"""

import json
import struct

import numpy as np

from shallows import _core

SCHEMA = "simllm-htsim-flow-session-v1"
AUTHORITY = "simllm-native-rnic-session"
PROFILE, HOSTS, RATE = "rnic-nn", 4, 400_000_000_000
QUIET_PS = 100_000_000
"""After this time behind the last arrival, 50 round trips, no acknowledgement is under way."""
IDENTITY = ("sequence", "execution_id", "operation_id", "flow_id")
KNOWN = (*IDENTITY, "source", "destination", "tag", "payload_bytes")
FIELDS = {
    "open": {
        "effective_hardware_sha256",
        "link_rate_bps",
        "node_count",
        "profile",
        "seed",
        "session_id",
        "topology_identity",
        "wqe_authority",
    },
    "inject": {*KNOWN, "eligible_at_ps", "policy_context_token"},
    "advance": {"through_ps", "through_sequence"},
    "drain": {"through_sequence"},
    "close": {"through_sequence"},
}
TEXTS = {"session_id", "profile", "topology_identity", "wqe_authority", *IDENTITY[1:]}
WORDS = (0, 1, 2, 5, -1, 2**63, 2**64 - 1, "", " ", "é", None, True, [], {}, "rnic-nn")
LATEST = 10**18
"""The longest simulated time, a million seconds."""
MOST = (2**31 - 1) * 4096
"""The most bytes of a flow."""
LONGEST = 1 << 20


class RefusedError(Exception):
    """An error of the protocol, by its code."""


def canonical(value):
    """The canonical JSON of a value, as bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def framed(body, length=None):
    """A body behind its length."""
    return struct.pack(">I", len(body) if length is None else length) + body


class Model:
    """What a server should answer."""

    def __init__(self, request):
        self.request, self.state = request, "new"
        self.flows, self.horizon, self.token, self.shown = [], None, None, set()

    def answer(self, body):
        """The answer to a whole body."""
        if self.state == "ended":
            return self.error("post_terminal")
        try:
            asked = self._parsed(body)
            verb = self._verb(asked)
            answer = getattr(self, f"_{verb}")(asked)
        except RefusedError as refused:
            self.state = "ended"
            return self.error(str(refused))
        return {**answer, "schema": SCHEMA, "status": "ok", "verb": verb}

    def error(self, code):
        """The answer that ends a session."""
        return {
            "authority_counters": self._counters(),
            "error_code": code,
            "schema": SCHEMA,
            "status": "error",
            "terminal": True,
        }

    def _counters(self):
        names = (
            "legacy_ledger_constructed",
            "legacy_mutations",
            "native_posts",
            "native_session_constructed",
        )
        return dict(zip(names, (0, 0, len(self.flows), int(self.token is not None)), strict=True))

    @staticmethod
    def _parsed(body):
        try:
            value = json.loads(body.decode(), parse_float=_no_float, parse_constant=_no_float)
        except (ValueError, RecursionError):
            raise RefusedError("noncanonical_json") from None
        if canonical(value) != body or not all(-(2**63) <= one < 2**64 for one in _integers(value)):
            raise RefusedError("noncanonical_json")
        if not isinstance(value, dict):
            raise RefusedError("not_an_object")
        return value

    def _verb(self, asked):
        if asked.get("schema") != SCHEMA:
            raise RefusedError("unsupported_schema")
        verb = asked.get("verb")
        if not isinstance(verb, str) or verb not in FIELDS:
            raise RefusedError("unknown_verb")
        fields = {*FIELDS[verb], "schema", "verb"}
        if asked.keys() - fields:
            raise RefusedError("unknown_field")
        if fields - asked.keys():
            raise RefusedError("missing_field")
        if (self.state == "new") != (verb == "open"):
            raise RefusedError("not_open" if self.state == "new" else "already_open")
        return verb

    def _open(self, asked):
        _check(asked, "profile")
        _check(asked, "node_count", 1, 2**32 - 1)
        _check(asked, "link_rate_bps", 1)
        _check(asked, "seed")
        _check(asked, "session_id")
        digest = asked["effective_hardware_sha256"]
        if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise RefusedError("invalid_field")
        _check(asked, "topology_identity")
        if asked["topology_identity"] != f"{asked['profile']}:nodes={asked['node_count']}":
            raise RefusedError("topology_mismatch")
        _check(asked, "wqe_authority")
        if asked["wqe_authority"] != AUTHORITY:
            raise RefusedError("unsupported_authority")
        if asked["profile"] != PROFILE:
            raise RefusedError("unsupported_profile")
        if asked["node_count"] != HOSTS:
            raise RefusedError("node_count_mismatch")
        if asked["link_rate_bps"] != RATE:
            raise RefusedError("link_rate_mismatch")
        self.state, self.token = "open", -1
        return {**asked, "sequence": 0}

    def _inject(self, asked):
        if self.state == "drained":
            raise RefusedError("post_drain_inject")
        _check(asked, "sequence")
        if asked["sequence"] != len(self.flows) + 1:
            raise RefusedError("sequence_mismatch")
        for key in ("execution_id", "operation_id", "flow_id"):
            _check(asked, key)
        _check(asked, "source", 0, HOSTS - 1)
        _check(asked, "destination", 0, HOSTS - 1)
        if asked["source"] == asked["destination"]:
            raise RefusedError("invalid_field")
        _check(asked, "tag", 0, 2**32 - 1)
        _check(asked, "payload_bytes", 1, 2**64 - 2)
        _check(asked, "eligible_at_ps")
        if self.horizon is not None and asked["eligible_at_ps"] <= self.horizon:
            raise RefusedError("stale_eligibility")
        _check(asked, "policy_context_token")
        if self.token not in (-1, asked["policy_context_token"]):
            raise RefusedError("policy_context_mismatch")
        self.token = asked["policy_context_token"]
        if asked["payload_bytes"] > MOST or asked["eligible_at_ps"] > LATEST:
            raise RefusedError("refused_by_network")
        self.flows.append(asked)
        return {key: asked[key] for key in KNOWN}

    def _cursor(self, asked):
        _check(asked, "through_sequence")
        if asked["through_sequence"] != len(self.flows):
            raise RefusedError("cursor_mismatch")

    def _advance(self, asked):
        if self.state == "drained":
            raise RefusedError("post_drain_advance")
        self._cursor(asked)
        _check(asked, "through_ps", 0, 2**64 - 2)
        if self.horizon is not None and asked["through_ps"] < self.horizon:
            raise RefusedError("stale_horizon")
        if asked["through_ps"] >= LATEST:
            raise RefusedError("refused_by_network")
        self.horizon = asked["through_ps"]
        rows = []
        for place, end in enumerate(self.ends()):
            flow = self.flows[place]
            start = flow["eligible_at_ps"]
            for rank, phase in enumerate(("accepted", "queued", "started", "completed")):
                at = end if phase == "completed" else start
                if at <= self.horizon and (place, phase) not in self.shown:
                    self.shown.add((place, phase))
                    row = {key: flow[key] for key in KNOWN} | {"phase": phase, "timestamp_ps": at}
                    rows.append(((at, place, rank), row))
        rows.sort(key=lambda row: row[0])
        return {**asked, "projections": [row for _, row in rows]}

    def ends(self):
        """When each flow arrives, in a run that has all of them from the beginning."""
        if not self.flows:
            return []
        columns = {key: [flow[name] for flow in self.flows] for key, name in COLUMNS.items()}
        columns = {key: np.array(values, TYPES.get(key, np.uint64)) for key, values in columns.items()}
        nothing = np.zeros(len(self.flows), np.uint32)
        never = np.full(len(self.flows), 2**64 - 1, np.uint64)
        flows = {**columns, "stop_ps": never, "class": nothing, "cc": nothing}
        return _core.simulate({**self.request, "flows": flows})["flows"]["finish_ps"].tolist()

    def is_quiet(self):
        """Whether all is quiet; None if only acknowledgements may be under way."""
        last = max(self.ends(), default=None)
        if last is None:
            return True
        if self.horizon is None or self.horizon < last:
            return False
        return True if self.horizon > last + QUIET_PS else None

    def _drain(self, asked):
        if self.state == "drained":
            raise RefusedError("already_drained")
        self._cursor(asked)
        if not self.is_quiet():
            raise RefusedError("not_quiescent")
        self.state = "drained"
        rows, ends = [], self.ends()
        for flow, end in zip(self.flows, ends, strict=True):
            start = flow["eligible_at_ps"]
            times = {"start_time_ps": start, "completion_time_ps": end, "fct_ps": end - start}
            rows.append({key: flow[key] for key in KNOWN} | times | {"profile": PROFILE})
        return {
            "authority_counters": self._counters(),
            "completion_rows": rows,
            "quiescent": True,
            "sq_high_watermarks": [self._most(host, ends) for host in range(HOSTS)],
            "through_sequence": len(self.flows),
        }

    def _most(self, host, ends):
        """The most flows of a host between start and arrival, both included, at one time."""
        spans = [(flow["eligible_at_ps"], end) for flow, end in zip(self.flows, ends, strict=True)]
        spans = [span for span, flow in zip(spans, self.flows, strict=True) if flow["source"] == host]
        return max((sum(a <= start <= b for a, b in spans) for start, _ in spans), default=0)

    def _close(self, asked):
        self._cursor(asked)
        if self.state != "drained":
            raise RefusedError("not_drained")
        self.state = "ended"
        return dict(asked)


COLUMNS = {"src": "source", "dst": "destination", "bytes": "payload_bytes", "start_ps": "eligible_at_ps"}
TYPES = {"src": np.uint32, "dst": np.uint32}


def _no_float(text):
    raise ValueError(text)


def _integers(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [number for one in value for number in _integers(one)]
    return [value] if type(value) is int else []


def _check(asked, key, least=0, most=2**64 - 1):
    value = asked[key]
    right = isinstance(value, str) and value.strip() if key in TEXTS else type(value) is int
    if not right or (key not in TEXTS and not least <= value <= most):
        raise RefusedError("invalid_field")


def opening(**changes):
    """A request to open the network."""
    return {
        "effective_hardware_sha256": "0" * 64,
        "link_rate_bps": RATE,
        "node_count": HOSTS,
        "profile": PROFILE,
        "schema": SCHEMA,
        "seed": 0,
        "session_id": "one",
        "topology_identity": f"{PROFILE}:nodes={HOSTS}",
        "verb": "open",
        "wqe_authority": AUTHORITY,
    } | changes


def injection(sequence, source, destination, payload, eligible, **changes):
    """A request to inject a flow."""
    return {
        "destination": destination,
        "eligible_at_ps": eligible,
        "execution_id": f"execution-{sequence}",
        "flow_id": f"flow-{sequence}",
        "operation_id": f"operation-{sequence}",
        "payload_bytes": payload,
        "policy_context_token": 9001,
        "schema": SCHEMA,
        "sequence": sequence,
        "source": source,
        "tag": 1000 + sequence,
        "verb": "inject",
    } | changes


def cursor(verb, sequence, **fields):
    """A request to advance, drain or close."""
    return {"schema": SCHEMA, "through_sequence": sequence, "verb": verb} | fields


def sequence(request, rng):
    """(the input of a session, the answers to it, without messages)."""
    model, data, answers = Model(request), b"", []
    damage = rng.choice([0.0, 0.05, 0.3])
    for _ in range(rng.randrange(1, 25)):
        asked = _next(model, rng)
        body = canonical(_wrong(asked, rng) if rng.random() < damage else asked)
        if rng.random() < damage / 2:
            body = _damaged(body, rng)
        if rng.random() < damage / 4:
            return _cut(model, data, answers, body, rng)
        data += framed(body)
        answers.append(model.answer(body))
    return data, answers


def _next(model, rng):
    """A request that is right, for the most part, where the model is."""
    flows, horizon = len(model.flows), model.horizon or 0
    if model.state == "new":
        return opening(seed=rng.randrange(3))
    if model.state == "drained":
        return cursor("close", flows)
    choice = rng.random()
    if choice < 0.5:
        source = rng.randrange(HOSTS)
        destination = (source + rng.randrange(1, HOSTS)) % HOSTS
        eligible = horizon + (model.horizon is not None) + rng.randrange(1 << rng.randrange(1, 24))
        return injection(
            flows + 1, source, destination, rng.randrange(1, 1 << rng.randrange(1, 18)), eligible
        )
    quiet = model.is_quiet()
    if quiet is None or choice < (0.7 if quiet else 0.98):
        through = horizon + rng.randrange(1 << rng.randrange(1, 28))
        return cursor("advance", flows, through_ps=through)
    return cursor("drain", flows)


def _wrong(asked, rng):
    """A request with something wrong in it, or another one."""
    asked = dict(asked)
    key = rng.choice([*asked])
    match rng.randrange(8):
        case 0:
            del asked[key]
        case 1:
            asked[rng.choice(["news", "Tag", "zeta"])] = rng.choice([0, "text", [1, {"a": 2}]])
        case 2:
            asked[key] = rng.choice(WORDS)
        case 3:
            asked = rng.choice([opening(), cursor("drain", 0), cursor("close", 1), injection(1, 0, 1, 1, 0)])
        case _ if type(asked[key]) is int:
            asked[key] = rng.choice([0, asked[key] // 2, asked[key] + 1, 2 * asked[key], 10**18, 2**63])
        case _:
            asked[key] += rng.choice(["x", " "])
            if key == "profile":
                asked["topology_identity"] = f"{asked[key]}:nodes={asked['node_count']}"
    if key == "node_count" and key in asked:
        asked["topology_identity"] = f"{asked['profile']}:nodes={asked[key]}"
    return asked


def _damaged(body, rng):
    """A body that is no canonical JSON object, for the most part."""
    place = rng.randrange(len(body))
    text = body.decode()
    return rng.choice(
        [
            body[:place],
            body[:place] + bytes([rng.randrange(256)]) + body[place + 1 :],
            body.replace(b":", b": ", 1),
            body + b"\n",
            b"[" + body + b"]",
            b'{"schema":"x","schema":"y"}',
            b'{"a":1.5}',
            b'{"a":-0}',
            b'{"a":1e3}',
            b'{"a":18446744073709551616}',
            b'{"a":NaN}',
            b"\xff\xfe",
            b"",
            b"7",
            text.replace("e", "\\u0065", 1).encode(),
            json.dumps(json.loads(text), separators=(",", ":")).encode()[:-1] + b',"a":1}',
        ]
    )


def _cut(model, data, answers, body, rng):
    """An input that ends within a frame, or goes on with one that is too long."""
    if rng.random() < 0.5:
        length = rng.choice([LONGEST + 1, 2**32 - 1])
        return data + framed(body, length), [*answers, model.error("oversized_frame")]
    whole = framed(body)
    return data + whole[: rng.randrange(1, len(whole))], [*answers, model.error("truncated_frame")]
