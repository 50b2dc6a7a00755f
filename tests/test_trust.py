"""Python code of others runs only if the user says so, and results depend on all the code that they used."""

import ast
import copy
import importlib
import os
import pickle
import py_compile
import re
import shutil
import sys
import zipfile
import zipimport
from functools import partial
from pathlib import Path

import pytest

import commands
import shallows as sh
from shallows.algorithms import trust, user_algorithms
from shallows.algorithms.algorithm import choose
from shallows.errors import ScenarioError
from shallows.results.address import address
from shallows.sweeps import running
from shallows.sweeps.result import Sweep
from shallows.units import Frame

MINE = """
from helper import GAIN
open("{ran}", "a").write("ran ")
class Aimd:
    def __init__(self, initial_window, line_rate): self.window = initial_window
    def on_ack(self, now, ack): self.window += GAIN / self.window
    def on_loss(self, now, loss): self.window = max(self.window / 2, 1)
    def decision(self): return self.window
"""
SCENARIO = """
duration = "1ms"
{cc}
[topology]
kind = "dumbbell"
hosts = 2
[[traffic]]
kind = "incast"
senders = 2
size = "20KB"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.format(ran=tmp_path / "ran"))
    (tmp_path / "helper.py").write_text("GAIN = 1.0\n")
    (tmp_path / "a.toml").write_text(SCENARIO.format(cc='cc = "reno"'))
    (tmp_path / "named.toml").write_text(SCENARIO.format(cc='cc = "mine.py:Aimd"'))
    return tmp_path


def ran(place, *words):
    """(status, stderr, whether the code of `mine.py` was executed)."""
    (place / "ran").unlink(missing_ok=True)
    done = commands.run(*words, cwd=place)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr, (place / "ran").exists()


AGAIN = [
    ["at", "out", "20us"],
    ["why", "out", "0"],
    ["export", "out", "--csv", "csv"],
    ["run", "out/scenario.toml", "--out", "again"],
    ["compare", "out/scenario.toml", "--cc", "dctcp", "--set", 'traffic.0.cc="mine.py:Aimd"'],
]


@pytest.mark.thorough
@pytest.mark.parametrize("words", AGAIN[:4], ids=" ".join)
def test_code_of_a_result_from_elsewhere_does_not_run(place, words):
    assert ran(place, "run", "a.toml", "--cc", "./mine.py:Aimd", "--out", "out")[::2] == (0, True)
    assert ran(place, *words)[::2] == (0, True), "the user's own code runs again"
    shutil.rmtree(place / "state")  # another user
    shutil.rmtree(place / "again", ignore_errors=True)
    shutil.rmtree(place / "csv", ignore_errors=True)
    status, said, executed = ran(place, *words)
    assert (status, executed) == (2, False)
    assert "Python code that you trust" in said
    assert ran(place, *words, "--trust")[::2] == (0, True)
    shutil.rmtree(place / "again", ignore_errors=True)
    assert ran(place, *words)[::2] == (0, True), "--trust is remembered"


def test_a_page_of_a_result_from_elsewhere_does_not_run_its_code(place):
    ran(place, "run", "a.toml", "--cc", "./mine.py:Aimd", "--out", "out")
    shutil.rmtree(place / "state")
    status, said, executed = ran(place, "report", "out", "--html", "page.html")
    assert not executed
    assert status in (1, 2)
    assert "Python code that you trust" in said


@pytest.mark.thorough
@pytest.mark.parametrize("edited", ["mine.py", "helper.py"])
def test_edited_code_is_not_the_code_that_was_trusted(place, edited):
    """A result has a copy of its code, so that only an edited copy is another code."""
    ran(place, "run", "a.toml", "--cc", "./mine.py:Aimd", "--out", "out")
    (place / edited).write_text((place / edited).read_text() + "\n# edited\n")
    assert ran(place, "at", "out", "20us")[::2] == (0, True)
    copy = place / "out" / edited
    copy.write_text(copy.read_text() + "\n# edited\n")
    for words in (["at", "out", "20us"], ["run", "out/scenario.toml", "--out", "again"]):
        status, said, executed = ran(place, *words)
        assert (status, executed) == (2, False)
        assert "has changed" in said


@pytest.mark.thorough
def test_a_scenario_names_no_code_that_runs_by_itself(place):
    (place / "sweep.toml").write_text(
        SCENARIO.format(cc='cc = "reno"') + '[sweep]\ncc = ["mine.py:Aimd"]\nseeds = 1\n'
    )
    for words in (["run", "named.toml"], ["sweep", "named.toml"], ["sweep", "sweep.toml"]):
        status, said, executed = ran(place, *words)
        assert (status, executed) == (2, False), said
        assert "Python code that you trust" in said
    assert ran(place, "sweep", "sweep.toml", "--trust")[::2] == (0, True)
    assert ran(place, "run", "named.toml")[::2] == (0, True)


def test_a_class_beside_the_scenario_does_not_take_the_place_of_ones_own(place):
    gift = place / "gift"
    gift.mkdir()
    shutil.copy(place / "a.toml", gift)
    (gift / "mine.py").write_text("raise SystemExit('evil')")
    assert ran(place, "run", "gift/a.toml", "--cc", "./mine.py:Aimd", "--out", "out")[::2] == (0, True)


def test_the_address_covers_what_a_class_imports(place):
    def now():
        return address(sh.Scenario.load("a.toml", {"cc.name": "mine.py:Aimd"}))

    first = now()
    assert now() == first
    (place / "helper.py").write_text("from deeper import GAIN\n")
    (place / "deeper.py").write_text("GAIN = 1.0\n")
    second = now()
    (place / "deeper.py").write_text("GAIN = 9.0\n")
    assert len({first, second, now()}) == 3


def test_an_edited_helper_is_imported_again(place):
    def window():
        overrides = {"cc.name": "mine.py:Aimd", "traffic.0.size": "500KB"}
        return sh.run("a.toml", overrides=overrides).summary["fingerprint"]

    first = window()
    (place / "helper.py").write_text("GAIN = 9.0\n")  # the same size, perhaps within the same second
    assert window() != first


@pytest.mark.thorough
def test_a_sweep_does_not_reuse_runs_of_an_edited_helper(place):
    def runs():
        words = ["sweep", "a.toml", "--cc", "./mine.py:Aimd", "--workers", "1", "--out", "swept"]
        status, said, _ = ran(place, *words)
        assert status == 0, said
        return set(Sweep.load(place / "swept").table.run)

    first = runs()
    (place / "helper.py").write_text("GAIN = 9.0\n")
    assert not first & runs()


def test_installed_packages_are_not_sources(place):
    (place / "mine.py").write_text("import json, numpy\nimport helper\n")
    assert [path.name for path in trust.sources(place / "mine.py")] == ["mine.py", "helper.py"]


DEEP = "{folder}/lib/trace.py"
LOADS = {
    "a name of Python": "import sys\nsys.path.insert(0, '{folder}/lib')\nfrom trace import GAIN",
    "a helper of a helper": "from second import GAIN",
    "import_module": "import importlib\nGAIN = importlib.import_module('lib.tra' + 'ce').GAIN",
    "__import__": "GAIN = __import__('lib.tra' + 'ce').trace.GAIN",
    "exec of a text": f"exec(open('{DEEP}').read())",
    "runpy": f"import runpy\nGAIN = runpy.run_path('{DEEP}')['GAIN']",
    "a loader": (
        f"import importlib.util as u\nspec = u.spec_from_file_location('any', '{DEEP}')\n"
        "module = u.module_from_spec(spec)\nspec.loader.exec_module(module)\nGAIN = module.GAIN"
    ),
    "a name of bytes": f"import os\nexec(open(os.fsencode('{DEEP}')).read())",
}
"""Ways to load `lib/trace.py` of the user's folder."""


@pytest.fixture
def processes(place, monkeypatch):
    """Pretends to be a new process: nothing is loaded, and the record alone says what may run."""
    folder = place / "lib"
    folder.mkdir()
    (folder / "trace.py").write_text("GAIN = 1.0\n")
    (place / "second.py").write_text("from lib.trace import GAIN\n")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def begin(loads=None):
        if loads:
            text = MINE.format(ran=place / "ran").replace("from helper import GAIN", loads)
            (place / "mine.py").write_text(text.replace("{folder}", str(place)))
        monkeypatch.setattr(trust, "_loaded", {})
        monkeypatch.setattr(trust, "_ran", [])
        for name in ("_MODULES", "_CLASSES"):
            monkeypatch.setattr(user_algorithms, name, {})
        for name in ("trace", "second", "lib", "lib.trace", "helper"):
            sys.modules.pop(name, None)

    return begin


def named(place):
    """Load the class as one that the user names."""
    return user_algorithms.find(trust.named(f"{place}/mine.py:Aimd"), place)


def found_in_a_text(place):
    """Load the class as one that a scenario names."""
    return user_algorithms.find(f"{place}/mine.py:Aimd", place)


@pytest.mark.parametrize("loads", LOADS.values(), ids=LOADS)
def test_the_digest_covers_whatever_was_loaded(place, processes, loads):
    processes(loads)
    named(place)
    first = trust.digest(place / "mine.py")
    processes()
    found_in_a_text(place)  # unchanged, it runs again
    assert trust.digest(place / "mine.py") == first
    (place / "lib" / "trace.py").write_text(f"GAIN = 9.0\nopen('{place}/edited', 'w')\n")
    processes()
    with pytest.raises(ScenarioError, match="has changed"):
        found_in_a_text(place)
    assert not (place / "edited").exists(), "the edited file was executed"
    named(place)
    assert trust.digest(place / "mine.py") != first


OTHERS = ["a link to site-packages", "an archive", "bytecode alone", "cached bytecode"]


@pytest.mark.parametrize("kind", OTHERS)
def test_the_digest_follows_the_file_and_not_its_name(place, processes, kind):
    """A helper that lies elsewhere or is no text counts like any other one."""

    def write(gain, evil=""):
        code = f"GAIN = {gain}\n{evil}"
        if kind == "a link to site-packages":
            (place / "lib" / "site-packages").mkdir(exist_ok=True)
            file = place / "lib" / "site-packages" / "linked.py"
            file.write_text(code)
            (place / "helper.py").unlink(missing_ok=True)
            (place / "helper.py").symlink_to(file)
            return
        (place / "helper.py").write_text(code)
        if kind == "an archive":
            with zipfile.ZipFile(place / "all.zip", "w") as archive:
                archive.write(place / "helper.py", "helper.py")
            (place / "helper.py").unlink()
        elif kind == "bytecode alone":
            py_compile.compile(str(place / "helper.py"), str(place / "helper.pyc"), dfile=os.__file__)
            (place / "helper.py").unlink()
        else:
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(place / "helper.py"), invalidation_mode=unchecked)
            (place / "helper.py").write_text("GAIN = 1.0\n")

    way = f"import sys\nsys.path.insert(0, '{place}/all.zip')\n" if kind == "an archive" else ""
    processes(way + "from helper import GAIN")
    write(1.0)
    named(place)
    first = trust.digest(place / "mine.py")
    processes()
    found_in_a_text(place)  # unchanged, it runs again
    assert trust.digest(place / "mine.py") == first
    write(9.0, f"open('{place}/edited', 'w')\n")
    zipimport._zip_directory_cache.clear()
    importlib.invalidate_caches()
    processes()
    if kind == "cached bytecode":  # the source says what runs
        found_in_a_text(place)
    else:
        with pytest.raises(ScenarioError, match="has changed"):
            found_in_a_text(place)
    assert not (place / "edited").exists(), "the edited file was executed"


@pytest.mark.parametrize(
    "name", ["lib.other", "colorsys", "second"], ids=["new", "of the standard library", "of another file"]
)
def test_code_of_the_record_loads_no_other_file(place, processes, name):
    """A file that was not there when the user ran the code, under a name that only the code computes."""
    (place / "which.txt").write_text("json")
    processes(f"import importlib\nimportlib.import_module(open('{place}/which.txt').read())\nGAIN = 1.0")
    named(place)
    (place / "which.txt").write_text(name)
    file = place / f"{name.replace('.', '/')}.py"
    file.write_text(f"open('{place}/edited', 'w')\n")
    sys.modules.pop(name, None)
    processes()
    with pytest.raises(ScenarioError, match="have not run"):
        found_in_a_text(place)
    assert not (place / "edited").exists()


@pytest.mark.thorough
def test_a_sweep_does_not_reuse_runs_of_a_helper_named_like_a_module(place):
    def runs():
        words = ["sweep", "a.toml", "--cc", "./mine.py:Aimd", "--workers", "1", "--out", "swept"]
        status, said, _ = ran(place, *words)
        assert status == 0, said
        return set(Sweep.load(place / "swept").table.run)

    (place / "mine.py").write_text(MINE.format(ran=place / "ran").replace("helper", "trace"))
    (place / "trace.py").write_text("GAIN = 1.0\n")
    first = runs()
    (place / "trace.py").write_text("GAIN = 80.0\n")
    assert not first & runs()


def test_a_result_has_the_digest_of_its_code(place, monkeypatch):
    overrides = {"cc.name": "mine.py:Aimd"}
    run = sh.run("a.toml", overrides=overrides)
    assert run.summary["code"] == {"Aimd": trust.digest(place / "mine.py")}
    run.save("out")
    (place / "out" / "helper.py").write_text("GAIN = 9.0\n")
    with pytest.raises(ScenarioError, match="that you trust"):
        sh.run("out/scenario.toml")
    monkeypatch.setattr(trust, "_everything", True)
    with pytest.raises(ScenarioError, match="the run was made; it has changed"):
        sh.Run.load("out").at("20us")
    assert "code" not in sh.run("a.toml").summary


NAMED = [
    ["run", "--cc", "./mine.py:Aimd"],
    ["run", "--set", "cc.name=mine.py:Aimd"],
    ["run", "--set", "cc=mine.py:Aimd"],
    ["run", "--set", 'cc={name="mine.py:Aimd"}'],
    ["run", "--set", 'traffic=[{kind="incast",senders=2,size="20KB",cc="mine.py:Aimd"}]'],
    ["run", "--set", "traffic.0.cc.name=mine.py:Aimd"],
    ["compare", "--cc", "mine.py:Aimd"],
    ["compare", "--cc", "dctcp", "--set", "traffic.0.cc=mine.py:Aimd"],
    ["sweep", "--cc", "mine.py:Aimd", "--dry-run"],
    ["sweep", "--over", "cc.name=mine.py:Aimd,dctcp", "--dry-run"],
    ["sweep", "--over", "traffic[0].cc=mine.py:Aimd,dctcp", "--dry-run"],
    ["advise", "--set", "cc.name=mine.py:Aimd"],
]
"""Commands that name a class beside the user, for a scenario of another folder with a file of that name."""


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
def test_a_name_on_the_command_line_is_that_of_the_working_folder(place, words):
    gift = place / "gift"
    gift.mkdir()
    shutil.copy(place / "a.toml", gift)
    (gift / "mine.py").write_text(f"open('{place}/evil', 'w')\n" + MINE.format(ran=place / "evil"))
    command, *options = words
    _, said, executed = ran(place, command, "gift/a.toml", *options)
    assert executed, said
    assert not (place / "evil").exists()
    (place / "mine.py").unlink()
    status, said, _ = ran(place, command, "gift/a.toml", *options)
    assert not (place / "evil").exists(), "the file beside the scenario is not the one that was named"
    assert status == 2
    assert f"there is none in {place}" in said


NAMES = {
    "run": lambda name: sh.run("a.toml", cc=name),
    "run of a dict": lambda name: sh.run({**SMALL, "cc": name}),
    "overrides": lambda name: sh.run("a.toml", overrides={"cc.name": name}),
    "compare": lambda name: sh.compare("a.toml", name),
    "sweep": lambda name: sh.sweep("a.toml", name, workers=1, out="swept"),
    "over": lambda name: sh.sweep("a.toml", over={"cc.name": [name]}, workers=1, out="swept"),
    "Scenario": lambda name: sh.Scenario(**{**SMALL, "cc": name}),
    "CC": lambda name: sh.Scenario(**{**SMALL, "cc": sh.CC(name)}),
    "traffic": lambda name: sh.Scenario(
        **{**SMALL, "traffic": [sh.Incast(senders=1, size="1KB", cc=sh.CC(name))]}
    ),
    "from_tables": lambda name: sh.Scenario.from_tables({**SMALL, "cc": name}),
    "load": lambda name: sh.Scenario.load("a.toml", {"cc": {"name": name}}),
    "set": lambda name: sh.Scenario(**SMALL).set("cc", name),
    "replace": lambda name: sh.Scenario(**SMALL).replace({"traffic.0.cc.name": name}),
}
"""Ways in which the calling program names a class."""
SMALL = {
    "duration": "1ms",
    "cc": "reno",
    "topology": {"kind": "dumbbell", "hosts": 2},
    "traffic": [{"kind": "incast", "senders": 2, "size": "20KB"}],
}


@pytest.mark.parametrize("way", NAMES.values(), ids=NAMES)
def test_the_calling_program_names_code(place, processes, way):
    way("mine.py:Aimd")
    assert (place / "ran").exists()


TEXTS = {
    "from_toml": lambda name: sh.Scenario.from_toml(SCENARIO.format(cc=f'cc = "{name}"')),
    "made": lambda name: sh.Scenario.made({**SMALL, "cc": name}),
    "changed": lambda name: sh.Scenario(**SMALL).changed({"cc.name": name}),
    "choose": lambda name: choose({"name": name}, Frame(1500, 1460)),
    "find": lambda name: user_algorithms.find(name, Path()),
    "a sweep's file": lambda name: running.asked(swept_file(name))[0].jobs(),
    "its swept keys": lambda name: running.asked(swept_file(name, "over.'cc.name'"))[0].jobs(),
    "a scenario as given": lambda name: sh.Scenario.made(sh.Scenario(**SMALL).tables | {"cc": f"{name}"}),
}
"""Ways in which a text of somebody else reaches a scenario. None of them says that it is not trusted."""


def swept_file(name, key="cc"):
    Path("sweep.toml").write_text(SCENARIO.format(cc='cc = "reno"') + f'[sweep]\n{key} = ["{name}"]\n')
    return "sweep.toml"


@pytest.mark.parametrize("way", TEXTS.values(), ids=TEXTS)
def test_a_text_is_not_trusted_by_default(place, processes, way):
    with pytest.raises(ScenarioError, match="Python code that you trust"):
        way("mine.py:Aimd")
    assert not (place / "ran").exists()


@pytest.mark.parametrize("named", [True, False], ids=["named", "in the record"])
def test_another_process_runs_what_this_one_ran(place, processes, monkeypatch, named):
    """A worker of a sweep gets the record of its parent with the scenario, also if no place holds records."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    location = f"{place}/mine.py:Aimd"
    scenario = sh.Scenario(**{**SMALL, "cc": location})
    if not named:
        scenario = sh.Scenario.from_toml(scenario.to_toml())
    sent = pickle.dumps(scenario.deferred({})), pickle.dumps(partial(copy.copy, scenario))
    for one in sent:
        processes()
        assert pickle.loads(one)() == scenario
    if not named:
        (place / "helper.py").write_text(f"GAIN = 9.0\nopen('{place}/edited', 'w')\n")
        for one in sent:
            processes()
            with pytest.raises(ScenarioError, match="has changed"):
                _ = pickle.loads(one)()
        assert not (place / "edited").exists()


ENTRIES = {
    "algorithms/trust.py": "`named` itself",
    "algorithms/user_algorithms.py": "the location of a class object of the program",
    "cli/run.py": "--cc",
    "cli/settings.py": "--set",
    "cli/wire.py": "--cc",
    "judging/subject.py": "`judge` and its command: the algorithm",
    "scenario/model.py": "`Scenario`, `from_tables`, `replace`, and overrides of `load` and `from_toml`",
    "scenario/overrides.py": "`by_user` itself",
    "sweeps/comparison.py": "`compare` and its command: cc and overrides",
    "sweeps/plans.py": "`by_user` of swept keys",
    "sweeps/running.py": "`sweep` and its command: cc, over and overrides",
    "runner.py": "`run`: cc and overrides; a dict of tables",
}
"""The only files of the package that trust a name, and whose it is."""


def trusts(node):
    """True for a call that trusts the names in its arguments."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = getattr(called, "attr", getattr(called, "id", ""))
    if name in ("by_user", "from_tables", "Named", "Scenario"):
        return ast.unparse(called) not in ("config_db.from_tables", "inspect.Named")
    if name == "named":
        return ast.unparse(called) in ("trust.named", "trusted.named")
    # str.replace, os.replace and dataclasses.replace have other arguments.
    alone = isinstance(called, ast.Attribute) and not node.keywords
    return alone and (name, len(node.args)) in (("replace", 1), ("set", 2))


def test_the_entries_that_trust_a_name_are_listed():
    package = Path(sh.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(trusts(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == set(ENTRIES)


def test_each_row_of_the_threat_model_names_tests_that_exist():
    tests = Path(__file__).parent
    rows = re.findall(
        r"^\| .* \| (`test_\w+\.py.*) \|$", (tests.parent / "docs" / "trust.md").read_text(), re.M
    )
    assert len(rows) >= 10
    for row in rows:
        file = None
        for name in re.findall(r"`([^`]+)`", row):
            file, _, function = name.rpartition("::") if "::" in name else (file, "", name)
            if name.endswith(".py"):
                file, function = name, ""
            assert f"def {function}" in (tests / file).read_text(), name
