"""What a type checker says of users' programs: right forms pass, mistakes are refused where they stand."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shallows as sh

CHECKER = Path(sys.executable).parent / "basedpyright"
RIGHT = """
import numpy as np
import shallows as sh
from shallows.units import Gbps, us

scenario = sh.Scenario(
    duration="10ms",
    topology=sh.Dumbbell(hosts=4, rate=10 * Gbps, rtt="80us"),
    network=sh.Network(buffer="500pkt", marking=sh.Marking("step", threshold="35pkt"), pfc=True),
    hosts=sh.Hosts(rto_min=0.5 * us * 2000),
    cc=sh.CC("dctcp", g=0.05),
    traffic=[
        sh.Poisson(sizes="websearch", load=0.4, load_of="bottleneck"),
        sh.Poisson(sizes=np.array([[1000, 0.0], [2000, 1.0]]), load="40%", flows=10),
        sh.LongLived(from_=[0, 1], to="h4", cc="dx"),
        sh.Trace(flows={"start_s": [0], "src": [0], "dst": [4], "bytes": [1000]}),
        {"kind": "incast"},
    ],
)
plain = sh.Scenario(duration="1s", topology={"kind": "star"}, cc="dctcp", traffic=[{"kind": "incast"}])
run = sh.run(scenario, seed=2, world="packet", overrides={"traffic.0.flows": 10})
run.save("results/mine")
goodput = run.flows["goodput_gbps"].mean()
comparison = sh.compare("dctcp-40", cc=["dctcp", "dx"], overrides={"duration": "20ms"})
class Aimd:
    ...


written = sh.run("dctcp-40", overrides={"cc": sh.CC(Aimd, increase=2)})
sweep = sh.sweep("dctcp-40", cc=["dctcp", "./mine.py:Aimd"], over={"traffic.0.flows": [10, 20]}, seeds=3)
version: str = sh.__version__
"""
STRANGER = """
from pathlib import Path
import shallows as sh
from shallows import export, fluid, importers, plot, settings, units, why

scenario = sh.Scenario(
    duration=10 * units.ms,
    topology=sh.LeafSpine(leaves=2, spines=2, hosts_per_leaf=4, rate="100Gbps"),
    cc=sh.CC("dcqcn"),
    classes=[sh.TrafficClass(name="gold", weight=3), sh.TrafficClass(name="bulk", pool="shared")],
    pools=[sh.Pool(name="shared", size="1MB")],
    ports=[sh.PortSettings(names="spine", buffer="2MB")],
    faults=[sh.Fault(link="s0", kind="down", at="2ms", until="4ms")],
    traffic=[sh.Tasks(tasks=[sh.Task(name="a", host=0, compute="1ms")]), {"kind": "incast"}],
    record=sh.Record(ports="all"),
)
class Mine: ...


sh.register("mine", Mine)
missing: list[str] = [key for key in ("duration", "warmup") if key not in scenario.tables]
run: sh.Run = sh.run({"duration": "1ms", **scenario.tables}, cc="dctcp", seed=2)
again: sh.Run = sh.Run.load(run.save("results/one", plot=True))
mean_us: float = again.number("fct_mean_us") if len(again.flows) else 0.0
path: why.Path = run.why(812)
paths: why.Paths = run.why(slowest=10)
task: why.TaskPath = why.of_run(run, task="all-reduce")
moment: why.Snapshot = why.at(run, "3.2ms")
taps: export.Taps = run.taps(["s0->h8"], since="1ms")
written: Path = taps.pcap("one.pcapng")
page: Path = run.html("page.html", paths)
plot.figure([run, again], labels=["a", "b"], size=3.33).savefig("two.pdf")
axes = run.plot.queue_over_time()
comparison: sh.Comparison = sh.compare(scenario, cc=["dctcp", Mine])
best: str = min(comparison.runs, key=lambda label: comparison.runs[label].number("fct_p99_us"))
sweep: sh.Sweep = sh.sweep("dctcp-40", cc="dx", over={"traffic.0.load": [0.2, 0.4]}, seeds=3, workers=2)
model: fluid.Model = fluid.MODELS["dctcp"]()
fragment: settings.Fragment = settings.read([Path("config_db.json")])
changed: sh.Scenario = settings.apply(scenario, fragment)
advice: settings.Advice = settings.recommend(changed, flows=(2, 64))
imported: importers.Import = importers.write(["topology.txt", "flow.txt"], "imported.toml")
try:
    sh.run(imported.scenario.set("duration", "2ms"), out="results/two").check_books()
except (sh.ScenarioError, sh.BooksError) as error:
    print(error, missing, mean_us, path, task, moment, written, page, axes, best, sweep, model, advice)
"""
"""A program of 40 lines that uses all public modules."""
WRONG = {
    'sh.run("x", wrold="fluid")': "wrold",
    'sh.run("x", world="flud")': "flud",
    'sh.run("x", seed="two")': "seed",
    'sh.run("x", overrides="duration=1s")': "overrides",
    'sh.run("x", traffic__0__flows=3)': "traffic__0__flows",
    'sh.compare("x", ["dctcp"], wordls=["fluid"])': "wordls",
    "sh.Dumbbell(hots=4)": "hots",
    'sh.Dumbbell(hosts="four")': "hosts",
    "sh.Dumbbell(rate=10e9)": "rate",
    "sh.Dumbbell(rate=10 * us)": "rate",
    "sh.LongLived(start=10 * Gbps)": "start",
    "sh.Poisson(load=0.4)": "sizes",
    'sh.Poisson(sizes="websearch", load=0.4, load_of="bottelneck")': "bottelneck",
    'sh.Hosts(nic="fiar")': "fiar",
    'sh.Scenario(duraton="1s", topology=sh.Star(), cc="dx", traffic=[])': "duraton",
    'sh.Scenario(duration="1s", cc="dx", traffic=[])': "topology",
    'sh.Scenario(duration="1s", topology=sh.LongLived(), cc="dx", traffic=[])': "topology",
    'sh.Scenario(duration="1s", topology=sh.Star(), cc="dx", traffic=[sh.Dumbbell()])': "traffic",
    "sh.rnu": "rnu",
    'sh.run("x").flwos': "flwos",
    "import shallows.run": "shallows.run",
}
"""A user's mistake, and a word that the complaint about it has."""


def complaints(folder, programs, mode="standard"):
    """{name: what the checker, in `mode`, says of each of `programs`}, all in one go."""
    if not CHECKER.exists():
        pytest.skip("basedpyright comes with make lint and make types")
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    settings = {"typeCheckingMode": mode, "pythonVersion": "3.11", "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [CHECKER, "--project", folder, "--pythonpath", sys.executable, "--outputjson"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    said = {name: [] for name in programs}
    for one in report["generalDiagnostics"]:
        if one["severity"] == "error":
            said[Path(one["file"]).stem].append(one["message"])
    return said


@pytest.mark.types
def test_right_forms_pass_and_mistakes_are_refused(tmp_path):
    head = "import shallows as sh\nfrom shallows.units import Gbps, us\n\nspeeds = (Gbps, us)\n"
    wrong = {f"wrong_{i}": f"{head}{line}\n" for i, line in enumerate(WRONG)}
    said = complaints(tmp_path, {"right": RIGHT, **wrong})
    assert said.pop("right") == []
    for (line, word), messages in zip(WRONG.items(), said.values(), strict=True):
        assert any(word in message for message in messages), f"{line}: {messages}"


@pytest.mark.types
def test_a_key_that_a_summary_does_not_have_is_refused(tmp_path):
    keys = {"right": ("flows", "fct_p99_us"), "part": ("flwos", "fct_p99_us"), "number": ("flows", "fct_p98")}
    text = 'import shallows as sh\nprint(sh.Run.load("x").summary["{}"]["{}"])\n'
    said = complaints(tmp_path, {name: text.format(*of) for name, of in keys.items()}, "strict")
    assert said.pop("right") == []
    assert [any(word in message for message in said[name]) for name, word in
            (("part", "flwos"), ("number", "fct_p98"))] == [True, True]  # fmt: skip


@pytest.mark.types
def test_a_number_that_a_run_may_lack_is_a_float_or_none(tmp_path):
    key = 'run.summary["flows"]["fct_p99_us"]'
    lines = {
        "unasked": f"print({key} / 2)",
        "asked": f"fct_us = {key}\nprint(0 if fct_us is None else fct_us / 2)",
        "helper": 'print(run.number("fct_p99_us") / 2)',
    }
    programs = {
        name: f'import shallows as sh\nrun = sh.Run.load("x")\n{line}\n' for name, line in lines.items()
    }
    said = complaints(tmp_path, programs, "strict")
    assert any('"None"' in message for message in said.pop("unasked"))
    assert said == {"asked": [], "helper": []}


MISSPELT = {
    'request["balancng"]': "balancng",
    'request["flows"]["byts"]': "byts",
    'request["host"]["loss_detecton"]': "loss_detecton",
    'request["disciplines"][0]["classes"][0]["quantum"]': "quantum",
    'request["host"]["nic"] = "fiar"': "fiar",
    'request["links"]["rate"]': "rate",
    'answer["ports"]["markd"]': "markd",
    'answer["flows"]["finish"]': "finish",
    'answer["classes"]["largest"]': "largest",
    'summary["bottleneck"]["queue_mean"]': "queue_mean",
    'summary["flows"]["goodput"]': "goodput",
    'summary["job"]["busbw"]': "job",
}
"""A misspelt key of a request, of columns of an answer, or of a summary, and its word in the complaint."""


@pytest.mark.types
def test_misspelt_keys_of_requests_answers_and_summaries_are_refused(tmp_path):
    head = (
        "import shallows as sh\nfrom shallows.core.contract import Answer\n"
        "from shallows.scenario.request import request as of\n\n"
        'run = sh.run("x")\nrequest, summary = of(run.scenario), run.summary\n'
        "def told(answer: Answer) -> None:\n    print(answer)\n"
    )
    programs = {f"wrong_{i}": f"{head}    {line}\n" for i, line in enumerate(MISSPELT)}
    said = complaints(tmp_path, programs)
    for (line, word), messages in zip(MISSPELT.items(), said.values(), strict=True):
        assert any(word in message for message in messages), f"{line}: {messages}"


@pytest.mark.types
def test_a_program_that_uses_all_of_the_public_interface_passes_in_strict_mode(tmp_path):
    assert complaints(tmp_path, {"stranger": STRANGER}, "strict") == {"stranger": []}


@pytest.mark.types
def test_a_type_checker_and_python_see_the_same_public_names(tmp_path):
    names = sorted({*sh.__all__, "export", "fluid", "importers", "settings", "why"})
    text = "import shallows as sh\n" + "".join(f"print(sh.{name})\n" for name in names)
    assert complaints(tmp_path, {"names": text}, "standard") == {"names": []}
    assert all(getattr(sh, name) is not None for name in names)


def test_each_mistake_is_an_error_at_run_time_too():
    names = {"sh": sh, "us": sh.units.us, "Gbps": sh.units.Gbps}
    for line, word in WRONG.items():
        if re.match(r"sh\.(Dumbbell|Hosts|LongLived|Poisson)\(", line) and "hots" not in line:
            line = f'sh.Scenario(duration="1s", cc="dx", {placed(line)})'
        if line.startswith(("sh.run", "sh.compare")) and line.endswith(")"):
            line = line.replace('"x"', '"dctcp-40"')
        with pytest.raises((sh.ScenarioError, TypeError, AttributeError, ImportError), match=word):
            exec(line.replace(".flwos", ".nothing") if "flwos" not in word else "sh.Run.flwos", names)


def placed(part):
    """The keywords of a scenario that has `part` in its place."""
    if "Dumbbell" in part:
        return f"topology={part}, traffic=[sh.LongLived()]"
    if "Hosts" in part:
        return f"hosts={part}, topology=sh.Star(), traffic=[sh.LongLived()]"
    return f"topology=sh.Star(), traffic=[{part}]"
