"""The same scenario under several algorithms: one table, one figure."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from shallows.errors import BooksError, ScenarioError
from shallows.run import in_world, prepare


def compare(
    scenario, ccs, *, worlds=("packet",), seed=None, threads=None, out=None, progress=False, **overrides
):
    """Run `scenario` once for each algorithm of `ccs` in each of `worlds`; return the `Comparison`.

    `scenario`, `seed` and `overrides` are those of `run`. `ccs` are names of the catalog or presets,
    "dctcp" or "vegas@ns-2". `threads` runs go on at a time (all of them unless given). With `out` each
    run is saved to a folder of its own below it, and table and figure beside them.

    Ctrl-C ends all runs early and keeps what is done. Raises `ScenarioError` for a wrong scenario
    before anything runs, `BooksError` (after saving; the first bad run is its `run`) where packets or
    flows are unaccounted for.
    """
    from shallows.progress import Progress

    jobs = _jobs(scenario, ccs, worlds, seed, overrides)
    with Progress(shown=progress) as bars:
        runs = _run_all(jobs, threads or len(jobs), bars)
    comparison = Comparison(runs)
    if out is not None:
        comparison.save(out)
    return comparison.check_books()


def _jobs(scenario, ccs, worlds, seed, overrides):
    """`{label: (world's run, scenario)}`, everything checked before the first run starts."""
    if not ccs or len(set(ccs)) < len(ccs):
        raise ScenarioError("cc", ", ".join(ccs), "one or more algorithms, each once")
    return {
        cc if len(worlds) == 1 else f"{cc}-{world}": (
            in_world(world),
            prepare(scenario, seed=seed, overrides={**overrides, "cc.name": cc}),
        )
        for cc in ccs
        for world in worlds
    }


def _run_all(jobs, threads, bars):
    """`{label: Run}` in the order of `jobs`; runs that had not started when Ctrl-C came are missing."""
    with ThreadPoolExecutor(threads) as pool:
        futures = {
            pool.submit(world, scenario, bars.of(scenario, label)): label
            for label, (world, scenario) in jobs.items()
        }
        try:
            done = {futures[future]: future.result() for future in as_completed(futures)}
        except BaseException as reason:
            bars.stop.set()
            pool.shutdown(cancel_futures=True)
            if not isinstance(reason, KeyboardInterrupt):
                raise
            done = {label: future.result() for future, label in futures.items() if not future.cancelled()}
    return {label: done[label] for label in jobs if label in done}


class Comparison:
    """Runs of one scenario under several algorithms: `runs` is `{label: Run}`, in the order asked for."""

    def __init__(self, runs):
        self.runs = runs

    def __repr__(self):
        return f"<Comparison of {', '.join(self.runs)}>"

    @property
    def interrupted(self):
        """Whether any of the runs was ended early by its user."""
        return any(run.interrupted for run in self.runs.values())

    @property
    def rows(self):
        """The table as a list of dicts, a row for each run: `cc`, then what of its summary applies."""
        return [{"cc": label, **_row(run.summary)} for label, run in self.runs.items()]

    @property
    def table(self):
        """The table as a pandas DataFrame, a row for each algorithm."""
        import pandas

        return pandas.DataFrame(self.rows).set_index("cc")

    @property
    def by_size(self):
        """Slowdown by flow size (pandas): a row for each algorithm and size, as in `flows_by_size`."""
        import pandas

        rows = [{"cc": cc, **row} for cc, run in self.runs.items() for row in run.summary["flows_by_size"]]
        return pandas.DataFrame(rows).set_index(["cc", "below_bytes"])

    def figure(self):
        """The four-panel matplotlib figure, the runs drawn over each other."""
        from shallows import plot

        return plot.figure(list(self.runs.values()), labels=list(self.runs))

    def check_books(self):
        """Return the comparison; raise `BooksError` if the books of a run do not close."""
        for label, run in self.runs.items():
            if not run.summary["books"]["closed"]:
                raise BooksError([f"{label}: {problem}" for problem in run.summary["books"]["problems"]], run)
        return self

    def save(self, folder):
        """Save each run below `folder`, and `figure.png`, `figure.pdf` and `comparison.csv` in it."""
        folder = Path(folder)
        for label, run in self.runs.items():
            run.save(folder / label)
        self.table.to_csv(folder / "comparison.csv")
        figure = self.figure()
        for kind in ("png", "pdf"):
            figure.savefig(folder / f"figure.{kind}")
        return folder


def _row(summary):
    """The numbers of one run that a comparison shows; what does not exist in this run is None."""
    bottleneck, flows = summary["bottleneck"], summary["flows"]
    return {
        **{key: bottleneck[key] for key in ("port", "utilization", "queue_mean_pkt", "queue_p99_pkt")},
        **{key: bottleneck[key] for key in ("delay_mean_us", "delay_p99_us", "dropped")},
        **{key: flows[key] for key in ("goodput_gbps", "jain", "offered", "finished", "fct_mean_us")},
        **{key: flows[key] for key in ("fct_p99_us", "slowdown_p50", "slowdown_p99", "timeouts")},
    }
