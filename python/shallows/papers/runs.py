"""What the figures of several papers read off a run."""


def port(run):
    """The summary of the bottleneck's port."""
    return run.summary["bottleneck"]


def probe(run, name, after_us=0, flow=None):
    """The samples of one probe after `after_us`, of one flow or of all."""
    table = run.probes
    its = table[(table.name == name) & (table.time_us >= after_us)]
    return its if flow is None else its[its.flow == flow]


def queue(run, after_us=0):
    """The samples of the bottleneck's queue after `after_us`."""
    table = run.queues
    return table[(table.port == port(run)["port"]) & (table.time_us >= after_us)]


def jain(rates):
    """Jain's index of fairness, 1 where all are equal."""
    return rates.sum() ** 2 / (len(rates) * (rates**2).sum())


def noisy(us):
    """Time stamps without any error but noise of this standard deviation."""
    return {"kind": "hardware", "poll": "0s", "bucket": 1, "burst": 1, "noise": f"{us}us"}
