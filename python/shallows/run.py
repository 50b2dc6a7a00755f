"""One run: its scenario, its summary and its tables, in memory or in a folder.

A folder holds `scenario.toml` (every default written out), `summary.json`, and a Parquet file for each
of `TABLES`. The tables of a run that was just made stay in the columns the packet world returned; they
become Arrow or pandas only when asked for, and reach the disk in batches, so that a run with millions
of samples is saved in the memory it already has.
"""

import json
import os
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shallows import summary as sums
from shallows.errors import BooksError, ScenarioError

NEVER = 2**64 - 1
NO_FLOW = 2**32 - 1
BATCH_ROWS = 1 << 16
WORLDS = ("packet", "fluid", "kernel")
QUEUE_STATISTICS = ("mean", "p50", "p99", "max")
PORT_COUNTS = ("sent", "marked", "dropped", "dropped_in_warmup", "pauses")


class Column(NamedTuple):
    """A column of a table: its Arrow type ("name" is text that repeats), unit and definition."""

    type: str
    unit: str
    definition: str


TABLES = {
    "flows": {
        "flow": Column("uint32", "", "number of the flow, from 0 in the order the scenario lists them"),
        "traffic": Column("uint32", "", "number of its table, `[[traffic]]`, from 0"),
        "cc": Column("name", "", "congestion control algorithm"),
        "src": Column("name", "", "sending host"),
        "dst": Column("name", "", "receiving host"),
        "bytes": Column("uint64", "B", "payload to send; empty for a flow without an end"),
        "start_us": Column("float64", "us", "when the flow may first send; empty if it never began"),
        "fct_us": Column("float64", "us", "from start until the receiver has every byte"),
        "exchange_us": Column(
            "float64", "us", "of a response: from the start of its request until the client has every byte"
        ),
        "ideal_us": Column(
            "float64", "us", "fct of the same bytes alone: serialisation at every hop plus propagation"
        ),
        "slowdown": Column("float64", "1", "fct_us / ideal_us"),
        "goodput_gbps": Column(
            "float64",
            "Gbit/s",
            "in-order payload per time: over fct_us if finished, else over its time in the run; "
            "of a flow without an end, after the warm-up only",
        ),
        "retransmits": Column("uint32", "packets", "data packets sent again"),
        "timeouts": Column("uint32", "1", "retransmission timeouts"),
        "credits": Column("uint64", "packets", "credits that the receiver handed out"),
        "credits_wasted": Column("uint64", "packets", "credits that came and found nothing to send"),
    },
    "queues": {
        "time_us": Column("float64", "us", "when the sample was taken"),
        "port": Column("name", "", "egress port, as from->to"),
        "queue_pkt": Column("float64", "full frames", "queue_bytes / mtu"),
        "queue_bytes": Column("uint32", "B", "frames waiting plus what is left of the one being sent"),
    },
    "probes": {
        "time_us": Column("float64", "us", "when the sample was taken"),
        "flow": Column("uint32", "", "number of the flow"),
        "name": Column("name", "", "what is measured; its unit is its suffix"),
        "value": Column("float64", "see name", "the sample"),
    },
    "ports": {
        "port": Column("name", "", "egress port, as from->to"),
        "utilization": Column("float64", "1", "share of the time after the warm-up spent sending"),
        "queue_mean_pkt": Column("float64", "full frames", "queue, weighted by time, after the warm-up"),
        "queue_p50_pkt": Column("float64", "full frames", "not exceeded half of the time after the warm-up"),
        "queue_p99_pkt": Column("float64", "full frames", "not exceeded 99 % of the time after the warm-up"),
        "queue_max_pkt": Column("float64", "full frames", "largest queue after the warm-up"),
        "sent": Column("uint64", "packets", "sent after the warm-up"),
        "marked": Column("uint64", "packets", "given a congestion mark after the warm-up"),
        "dropped": Column("uint64", "packets", "dropped after the warm-up"),
        "pauses": Column("uint64", "", "times a pause stopped data after the warm-up"),
        "paused_us": Column("float64", "us", "time the port was kept from sending after the warm-up"),
    },
    "queue_histograms": {
        "port": Column("name", "", "egress port, as from->to"),
        "from_pkt": Column("float64", "full frames", "lower end of the bin, inclusive"),
        "below_pkt": Column("float64", "full frames", "upper end of the bin, exclusive"),
        "time_us": Column("float64", "us", "exact time the queue spent in the bin after the warm-up"),
    },
}
"""Every table of a result: its columns in order, each with type, unit and definition."""


def run(scenario, *, seed=None, world="packet", out=None, progress=False, **overrides):
    """Run `scenario`, a `Scenario` or the path of a TOML file, and return its `Run`.

    `overrides` replace single keys of the scenario, written with dots or with two underscores:
    `run("x.toml", cc__name="dx", **{"traffic.0.flows": 10})`. With `out` the run is saved to that
    folder; with `progress` stderr shows how far it is. Ctrl-C ends the run early and returns what there
    is; `Run.interrupted` tells.

    Raises `ScenarioError` for a wrong scenario, `BooksError` (after saving; the run is its `run`) where
    packets or flows are unaccounted for, `shallows._core.Bug` for a broken invariant.
    """
    from shallows.progress import Progress

    scenario = prepare(scenario, seed=seed, overrides=overrides, world=world)
    with Progress(shown=progress) as bar:
        result = in_world(world)(scenario, bar.of(scenario))
    if out is not None:
        result.save(out)
    return result.check_books()


def prepare(scenario, *, seed=None, overrides=None, world="packet"):
    """The `Scenario` that `scenario` (one, or the path of its file) becomes with `overrides` applied.

    Raises `ScenarioError` where it is wrong, or is nothing that `world` can express.
    """
    from shallows.scenario import Scenario

    overrides = {key.replace("__", "."): value for key, value in (overrides or {}).items()}
    if seed is not None:
        overrides["seed"] = seed
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, overrides)
    elif overrides:
        scenario = scenario.replace(overrides)
    if hasattr(_module(world), "check"):
        try:
            _module(world).check(scenario)
        except ScenarioError as error:
            raise error.in_file(scenario.file) from None
    return scenario


def in_world(world):
    """The function `(scenario, on_progress) -> Run` of a world.

    A bug that it meets carries a note with scenario, seed and version, to be reported.
    """
    simulate = _module(world).run

    def noted(scenario, on_progress):
        try:
            return simulate(scenario, on_progress)
        except RuntimeError as bug:
            from shallows import __version__

            bug.add_note(f"scenario {scenario.name}, seed {scenario.seed}, version {__version__}")
            bug.add_note("Please report it with these lines and this scenario:\n" + scenario.to_toml())
            raise

    return noted


def _module(world):
    if world not in WORLDS:
        raise ScenarioError("world", world, "one of " + ", ".join(WORLDS))
    return import_module(f"shallows.worlds.{world}")


class Names(NamedTuple):
    """A column of text: `codes` (integers, one a row) into `names`."""

    codes: np.ndarray
    names: list


class Run:
    """A finished (or interrupted) run.

    `summary` is the dict of `summary.json`, `scenario_toml` the scenario with every default resolved.
    `flows`, `queues`, `probes`, `ports` and `queue_histograms` are pandas tables, built when first
    asked for; `TABLES` names their columns with unit and definition.

    `blocks` maps the name of a table to a function that yields it piecewise, as dicts of equally long
    columns (numpy arrays, NaN for what does not exist, or `Names`).
    """

    def __init__(self, scenario_toml, summary, blocks):
        self.scenario_toml = scenario_toml
        self.summary = summary
        self._blocks = blocks
        self._arrow = {}

    @classmethod
    def from_answer(cls, scenario, network, flows, answer, wall_s, world="packet"):
        """The run that the `answer` of the packet world (docs/crossing.md), or one like it, describes.

        `network` has `port_names`, `host_names` and the columns of the links, `flows` the columns of
        the flows and `cc_names`; times in picoseconds, sizes in bytes. `wall_s` is how long it took.
        """
        told = _Answer(scenario, network, flows, answer)
        return cls(scenario.to_toml(), {"world": world, **told.summary(wall_s)}, told.blocks())

    @classmethod
    def load(cls, folder):
        """The run saved in `folder`. Tables are read when first asked for.

        Raises `ScenarioError` where the folder holds no result.
        """
        folder = Path(folder)
        try:
            scenario_toml = (folder / "scenario.toml").read_text("utf-8")
            summary = json.loads((folder / "summary.json").read_text("utf-8"))
        except OSError as error:
            missing = Path(error.filename).name
            raise ScenarioError(f"no {missing}", file=folder, expected="a folder saved by a run") from None
        run = cls(scenario_toml, summary, {})
        run._folder = folder
        return run

    def table(self, name):
        """One of `TABLES` as a pyarrow table, with unit and definition in the metadata of each column."""
        if name not in self._arrow:
            import pyarrow

            if name in self._blocks:
                table = pyarrow.Table.from_batches(self._batches(name), schema(name))
            else:
                import pyarrow.parquet

                table = pyarrow.parquet.read_table(self._folder / f"{name}.parquet")
            self._arrow[name] = table
        return self._arrow[name]

    @cached_property
    def flows(self):
        """The flow table (pandas): a row for each flow, also for those that did not finish."""
        return self.table("flows").to_pandas()

    @cached_property
    def queues(self):
        """Samples of the recorded queues (pandas)."""
        return self.table("queues").to_pandas()

    @cached_property
    def probes(self):
        """Samples of what the algorithms know and decide (pandas): windows, rates, alpha, delays."""
        return self.table("probes").to_pandas()

    @cached_property
    def ports(self):
        """Exact statistics of every egress port after the warm-up (pandas)."""
        return self.table("ports").to_pandas()

    @cached_property
    def queue_histograms(self):
        """How long each recorded queue had which length (pandas), exact, after the warm-up."""
        return self.table("queue_histograms").to_pandas()

    def __repr__(self):
        s = self.summary
        return f"<Run {s['name']}, seed {s['seed']}, {s['world']} world, {s['duration_s']:g} s>"

    @property
    def scenario(self):
        """The `Scenario` of this run, every default resolved."""
        from shallows.scenario import Scenario

        return Scenario.from_toml(self.scenario_toml)

    @property
    def interrupted(self):
        """Whether the run was ended early by its user."""
        return self.summary.get("interrupted", False)

    def check_books(self):
        """Return the run; raise `BooksError` if packets or flows are unaccounted for."""
        if not self.summary["books"]["closed"]:
            raise BooksError(self.summary["books"]["problems"], self)
        return self

    def save(self, folder):
        """Write everything to `folder`, over an earlier run if there is one; return its path."""
        import pyarrow.parquet

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            # an unfinished file never carries the table's name
            path = folder / f"{name}.parquet"
            partial = path.with_suffix(".partial")
            with pyarrow.parquet.ParquetWriter(partial, schema(name), compression="zstd") as writer:
                for batch in self._batches(name):
                    writer.write_batch(batch)
            os.replace(partial, path)
        (folder / "scenario.toml").write_text(self.scenario_toml, "utf-8")
        (folder / "summary.json").write_text(json.dumps(self.summary, indent=2) + "\n", "utf-8")
        return folder

    def figure(self):
        """The four-panel matplotlib figure of this run; see `shallows.plot.figure`."""
        from shallows import plot

        return plot.figure([self])

    @property
    def plot(self):
        """Single figures, such as `run.plot.queue_over_time()`; see `shallows.plot.PANELS`."""
        from shallows import plot

        return plot.Plots(self)

    def _batches(self, name):
        if name not in self._blocks:
            yield from self.table(name).to_batches()
            return
        for block in self._blocks[name]():
            yield _record_batch(name, block)


def schema(name):
    """The Arrow schema of a table, with `unit` and `definition` in the metadata of every column."""
    import pyarrow

    def field(column, of):
        kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()) if of.type == "name" else of.type
        return pyarrow.field(column, kind, metadata={"unit": of.unit, "definition": of.definition})

    return pyarrow.schema([field(column, of) for column, of in TABLES[name].items()])


def _record_batch(name, block):
    import pyarrow

    fields = schema(name)
    return pyarrow.record_batch([_array(block[field.name], field.type) for field in fields], schema=fields)


def _array(values, kind):
    """A column in Arrow, from buffers: pyarrow.array would import pandas, which costs 60 MB."""
    import pyarrow

    if isinstance(values, Names):
        text = "".join(values.names).encode()
        ends = np.cumsum([0, *(len(name.encode()) for name in values.names)], dtype=np.int32)
        buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(text)]
        names = pyarrow.Array.from_buffers(pyarrow.string(), len(values.names), buffers)
        return pyarrow.DictionaryArray.from_arrays(_array(values.codes, pyarrow.int32()), names)
    known = None
    if values.dtype.kind == "f" and np.isnan(values).any():
        known = pyarrow.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
        values = np.nan_to_num(values)
    values = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pyarrow.Array.from_buffers(kind, len(values), [known, pyarrow.py_buffer(values)])


class _Answer:
    """Turns what a world returns into summary and tables."""

    def __init__(self, scenario, network, flows, answer):
        self.scenario, self.network, self.answer = scenario, network, answer
        self.mtu = float(scenario.mtu)
        self.ended_ps = answer["ended_ps"]
        self.warmup_ps = min(scenario.warmup_ps, self.ended_ps)
        self.measured_ps = self.ended_ps - self.warmup_ps
        # In real time the ports are read when the processor gets to it, and say when that was.
        self.ports_measured_ps = answer.get("measured_ps", self.measured_ps)
        self.loads = flows.loads
        # Where no flow waits for another, they start when the scenario says.
        self.start_ps = answer["flows"].get("start_ps", flows.start_ps)
        self.flow_columns = self._flows(flows)
        self.port_columns = self._ports()

    def _flows(self, flows):
        answer, hosts = self.answer, self.network.host_names
        finish = answer["flows"]["finish_ps"]
        finished, limited = finish != NEVER, flows.bytes > 0
        begun = _where(self.start_ps != NEVER, self.start_ps.astype(float))
        fct_ps = _where(finished, finish.astype(float) - self.start_ps)
        ideal_ps = _where(limited, answer["flows"]["ideal_ps"].astype(float))
        none = np.zeros(len(finish), np.uint64)
        return {
            "flow": np.arange(len(finish), dtype=np.uint32),
            "traffic": flows.group,
            "cc": Names(flows.cc, flows.cc_names),
            "src": Names(flows.src, hosts),
            "dst": Names(flows.dst, hosts),
            "bytes": _where(limited, flows.bytes.astype(float)),
            "start_us": begun / 1e6,
            "fct_us": fct_ps / 1e6,
            "exchange_us": self._exchanges(flows, finished) / 1e6,
            "ideal_us": ideal_ps / 1e6,
            "slowdown": fct_ps / ideal_ps,
            "goodput_gbps": self._goodput(flows, fct_ps, limited),
            "retransmits": answer["flows"]["retransmits"],
            "timeouts": answer["flows"]["timeouts"],
            **{of: answer["flows"].get(of, none) for of in ("credits", "credits_wasted")},
        }

    def _exchanges(self, flows, finished):
        """Picoseconds from the start of a request to the end of the response to it."""
        answered = (flows.answers != NO_FLOW) & finished
        request = np.where(answered, flows.answers, 0)
        return _where(answered, self.answer["flows"]["finish_ps"] - self.start_ps[request].astype(float))

    def _goodput(self, flows, fct_ps, limited):
        """Gbit/s of every flow over the time it ran; without an end, of what was after the warm-up."""
        first = np.where(limited, self.start_ps, np.maximum(self.start_ps, self.warmup_ps)).astype(float)
        last = np.minimum(flows.stop_ps, self.ended_ps)
        ran_ps = np.where(np.isfinite(fct_ps), fct_ps, last - first)
        answer = self.answer["flows"]
        payload = np.where(limited, answer["delivered_bytes"], answer["goodput_bytes"])
        return payload * 8e3 / _where(ran_ps > 0, ran_ps)

    def _ports(self):
        answer, names = self.answer["ports"], self.network.port_names
        return {
            "port": Names(np.arange(len(names)), names),
            "utilization": answer["busy_ps"] / max(self.ports_measured_ps, 1),
            **{f"queue_{of}_pkt": answer[f"queue_{of}_bytes"] / self.mtu for of in QUEUE_STATISTICS},
            "delay_mean_us": answer["delay_mean_ps"] / 1e6,
            "delay_p99_us": answer["delay_p99_ps"] / 1e6,
            **{of: answer[of] for of in ("sent", "marked", "dropped")},
            "pauses": answer["pauses"],
            "paused_us": answer["paused_ps"] / 1e6,
        }

    def summary(self, wall_s):
        """The dict of `summary.json`."""
        answer, flows, warmup_us = self.answer, self.flow_columns, self.warmup_ps / 1e6
        return {
            **self._origin(),
            "duration_s": self.ended_ps / 1e12,
            "warmup_s": self.warmup_ps / 1e12,
            **self._interruption(),
            "wall_s": wall_s,
            "events": answer["events"],
            "packet_hops": answer["packet_hops"],
            "packet_hops_per_s": answer["packet_hops"] / wall_s if wall_s > 0 else None,
            "bottleneck": sums.bottleneck(self.port_columns, self._candidates()),
            "network": {of: int(answer["ports"][of].sum()) for of in PORT_COUNTS} | self._pauses(),
            "flows": sums.flow_statistics(
                flows,
                warmup_us=warmup_us,
                measured_s=self.measured_ps / 1e12,
                goodput_bytes=answer["flows"]["goodput_bytes"],
            ),
            "flows_by_size": sums.flows_by_size(flows, warmup_us=warmup_us),
            "traffic": self._traffic(),
            "load": self._load(),
            "doubts": self.scenario.doubts,
            "books": self._books(),
        }

    def _traffic(self):
        """A row for each table of traffic: what its flows got."""
        flows, rows = self.flow_columns, []
        goodput_bytes = self.answer["flows"]["goodput_bytes"]
        for number, table in enumerate(self.scenario.traffic):
            its = flows["traffic"] == number
            statistics = sums.traffic_statistics(
                {name: flows[name][its] for name in sums.TRAFFIC_COLUMNS},
                warmup_us=self.warmup_ps / 1e6,
                measured_s=self.measured_ps / 1e12,
                goodput_bytes=goodput_bytes[its],
            )
            names = sorted({flows["cc"].names[code] for code in flows["cc"].codes[its]})
            rows.append({"traffic": number, "kind": table.kind, "cc": ", ".join(names)} | statistics)
        return rows

    def _pauses(self):
        """How long ports were paused in all, and the ports of a deadlock, each waiting for the next."""
        names, links = self.network.port_names, self.answer["deadlock"]["links"].tolist()
        return {
            "paused_us": float(self.answer["ports"]["paused_ps"].sum()) / 1e6,
            "deadlock": [names[link] for link in links],
        }

    def _origin(self):
        import shallows

        return {
            "name": self.scenario.name,
            "seed": self.scenario.seed,
            "version": shallows.__version__,
            "fingerprint": self.answer["fingerprint"],
            "cc": self._algorithms(),
        }

    def _books(self):
        books = self.answer["books"]
        problems = sums.flow_problems(self.flow_columns, self.answer["flows"]["delivered_bytes"])
        return {"closed": books["closed"] and not problems, "problems": [*books["problems"], *problems]}

    def _load(self):
        """Stated and realised load of the traffic tables that state one."""
        return [
            {"traffic": i, "stated": load.stated, "realised": load.realised, "of": load.of}
            for i, load in enumerate(self.loads)
            if load
        ]

    def _candidates(self):
        """The ports among which the bottleneck is: those the scenario names, else all."""
        network, told = self.network, self.scenario.record.ports
        return network.recorded_ports if isinstance(told, list) else np.arange(len(network.port_names))

    def _algorithms(self):
        """The algorithms that have a flow, in the order of the scenario."""
        codes, names = self.flow_columns["cc"]
        return list(dict.fromkeys(names[code] for code in np.unique(codes)))

    def _interruption(self):
        if not self.answer["interrupted"]:
            return {}
        return {"interrupted": True, "interrupted_at_s": self.ended_ps / 1e12}

    def blocks(self):
        """What `Run` builds its tables from; big tables come in pieces, scaled only when needed."""
        return {
            "flows": lambda: iter([self.flow_columns]),
            "queues": lambda: _merged(self._queues()),
            "probes": self._probes,
            "ports": lambda: iter([self.port_columns]),
            "queue_histograms": lambda: _merged(self._histograms()),
        }

    def _queues(self):
        time_ps, names = self.answer["queues"]["time_ps"], self.network.port_names
        if not len(time_ps):  # not recorded: then there are no rows for the ports either
            return
        for port, queue in zip(self.network.recorded_ports, self.answer["queues"]["bytes"], strict=True):
            for rows in _pieces(len(time_ps)):
                yield {
                    "time_us": time_ps[rows] / 1e6,
                    "port": Names(np.full(len(time_ps[rows]), port), names),
                    "queue_pkt": queue[rows] / self.mtu,
                    "queue_bytes": queue[rows],
                }

    def _probes(self):
        answer = self.answer
        for rows in _pieces(len(answer["probes"]["value"])):
            yield {
                "time_us": answer["probes"]["time_ps"][rows] / 1e6,
                "flow": answer["probes"]["flow"][rows],
                "name": Names(answer["probes"]["name"][rows], answer["probe_names"]),
                "value": answer["probes"]["value"][rows],
            }

    def _histograms(self):
        names = self.network.port_names
        for port, histogram in zip(self.network.recorded_ports, self.answer["queue_histograms"], strict=True):
            edges, time_ps = histogram["edges_bytes"], histogram["time_ps"]
            visited = np.flatnonzero(time_ps)
            yield {
                "port": Names(np.full(len(visited), port), names),
                "from_pkt": edges[visited] / self.mtu,
                "below_pkt": edges[visited + 1] / self.mtu,
                "time_us": time_ps[visited] / 1e6,
            }


def _where(known, values):
    """`values` where `known`, NaN elsewhere."""
    return np.where(known, values, np.nan)


def _merged(blocks):
    """The same rows in blocks of `BATCH_ROWS` or more: each block of a file repeats all its names."""
    waiting, rows = [], 0
    for block in blocks:
        waiting.append(block)
        rows += len(block["time_us"])
        if rows >= BATCH_ROWS:
            yield _joined(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(blocks):
    if len(blocks) == 1:
        return blocks[0]
    columns = {column: [block[column] for block in blocks] for column in blocks[0]}
    return {
        column: Names(np.concatenate([piece.codes for piece in pieces]), pieces[0].names)
        if isinstance(pieces[0], Names)
        else np.concatenate(pieces)
        for column, pieces in columns.items()
    }


def _pieces(rows):
    """Slices of at most `BATCH_ROWS` rows that cover `rows`."""
    return (slice(start, start + BATCH_ROWS) for start in range(0, rows, BATCH_ROWS))
