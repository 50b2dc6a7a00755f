"""What the figures of several papers read off a run."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from shallows.results.run import Run


def port(run: "Run") -> dict[str, Any]:
    """The summary of the bottleneck's port."""
    return run.summary["bottleneck"]


def probe(run: "Run", name: str, after_us: float = 0, flow: int | None = None) -> "DataFrame":
    """The samples of one probe after `after_us`, of one flow or of all."""
    table = run.probes
    its = table[(table.name == name) & (table.time_us >= after_us)]
    return its if flow is None else its[its.flow == flow]


def queue(run: "Run", after_us: float = 0) -> "DataFrame":
    """The samples of the bottleneck's queue after `after_us`."""
    table = run.queues
    return table[(table.port == port(run)["port"]) & (table.time_us >= after_us)]


def jain(rates: Any) -> float:
    """Jain's index of fairness, 1 where all are equal."""
    return rates.sum() ** 2 / (len(rates) * (rates**2).sum())


def noisy(us: float) -> dict[str, Any]:
    """Time stamps without any error but noise of this standard deviation."""
    return {"kind": "hardware", "poll": "0s", "bucket": 1, "burst": 1, "noise": f"{us}us"}
