"""The paper, and the settings that several of its figures share."""

from typing import TYPE_CHECKING, Any

from validation.claim import Paper, Plot
from validation.runs import probe

if TYPE_CHECKING:
    from pandas import Series

    from shallows import Run
    from validation.lab import Lab

INIGO = Paper(
    "inigo",
    "Inigo",
    "TCP Inigo: Ambidextrous Congestion Control",
    "Shewmaker, Maltzahn, Obraczka, Brandt and Stone, preprint 2015",
)

SENDER = "inigo@published"
"""The sender in Fig. 2 to 12: the module that the authors published with these experiments (App. A)."""
PLAIN: dict[str, dict[str, Any]] = {
    "Inigo": {"name": SENDER},
    "CDG": {"name": "cdg@inigo"},
    "CUBIC": {"name": "cubic"},
    "Reno": {"name": "reno"},
}
RECEIVER = {"kind": "inigo", "resolution": "1ms"}
"""Inigo's receiver with the paper's resolution of timestamps."""
MANAGED = {name: {**PLAIN[name], "receiver": RECEIVER} for name in ("CUBIC", "Reno")}
WITH_RECEIVER = PLAIN | {f"{name}, Inigo's receiver": cc for name, cc in MANAGED.items()}
K = {"kind": "step", "threshold": "28pkt"}
"""0.17 of 500 Mbps for 4 ms, 42.5 KB; the scripts' RED rises to certainty within 3 packets of it."""
UNDELAYED = {"topology__rtt": "100us", "network__marking": K}
"""The authors' runs with ECN: their scripts marked in place of the delay (409fb8b). Mininet's own delay is not printed: 100 us."""
TICKS = (
    "The receiver's part depends on the phase of its ticks of 1 ms, with either clock, so no range of round trips supports it. With 3.9, 4, 4.05, 4.1 and 4.3 ms five flows of CUBIC use at least 3, 99.9, 94, 50 and 18 % of the link with the "
    "receiver's own clock (the text of §3.1), and 100, 3, 3, 3 and 3 % with echoed times (Algorithm 8 as printed); at 3.9 ms the latter share at Jain's index 0.52. Reproduce: `shallows run scenarios/inigo-five.toml --set cc.name=cubic "
    "--set cc.receiver=inigo --set topology.rtt=4.1ms`."
)
APART_S = 5
FIVE = {"inigo-five": "s0->h5"}
TWENTY = {"inigo-incast": "s0->h20"}
SETTING_FIVE = (
    "A star, 500 Mbps, 4 ms; inigo@published. Five flows join and leave 5 s apart, as in the authors' script. Mininet's limit of 425 counts segments as Linux 4.2 makes them, of two milliseconds "
    "of their flow: 166 ms of buffer."
)
SETTING_TWENTY = "A star, 500 Mbps, 4 ms; inigo@published. Twenty flows start at once and send for 5 s. Mininet's limit of 425 segments is 41 ms of buffer."
INCAST = {name: PLAIN[name] for name in ("Inigo", "CDG", "CUBIC", "Reno")}
QUEUE = Plot("queue (packets)", "share of time", "cdf", x_log=True)
SRTT = Plot("smoothed round trip (ms)", "share", "cdf", x_log=True)


def room(flows: int) -> str:
    """425 segments in bytes. Linux 4.2 makes a segment 1/1024 s long at its pacing rate, twice a flow's own."""
    return f"{425 * 2 * 500_000_000 // flows // 8 // 1024}B"


def five(lab: "Lab", cc: Any, **changes: Any) -> "Run":
    """Five flows that join and leave."""
    paper = {"network.buffer": room(5), "traffic.0.interval": f"{APART_S}s", "duration": f"{9 * APART_S}s"}
    return lab.run("inigo-five", paper, cc=cc, **changes)


def twenty(lab: "Lab", cc: Any, **changes: Any) -> "Run":
    """Twenty flows at once."""
    return lab.run("inigo-incast", {"network.buffer": room(20)}, cc=cc, **changes)


def _smoothed(rtt: "Series") -> "Series":
    return rtt.ewm(alpha=1 / 8, adjust=False).mean()


def smoothed_ms(run: "Run", after_us: float = 0) -> "Series":
    """Smoothed round trips in ms of all flows: a sample a millisecond, an eighth of the weight to each new one."""
    return probe(run, "rtt_us", after_us).groupby("flow").value.transform(_smoothed) / 1e3
