"""An evaluator for OpenEvolve (github.com/algorithmicsuperintelligence/openevolve): programs are judged.

    openevolve-run initial_program.py evaluator.py --config config.yaml

`combined_score` is the score of docs/judge.md, and each family has its grade. The artifacts tell the language
model which rows failed, and why the flow that suffers was slow. After the search, judge the best program with
held-out draws that it was not tuned to: `shallows judge ./best_program.py:Mine --held-out 7 --worst`.
"""

import os
from pathlib import Path

from openevolve.evaluation_result import EvaluationResult

import shallows as sh

CLASS = "Mine"
FAMILIES = os.environ.get("JUDGE_FAMILIES", "D2,D3,D4,D7").split(",")
FOLDER = Path(os.environ.get("JUDGE_FOLDER", "judged"))
LONGEST = 4000
"""Characters of an account that the language model reads."""


def evaluate(program_path: str) -> EvaluationResult:
    """The score of the class of a program. A program without one has the score 0."""
    out = FOLDER / str(os.getpid())  # a page for each process of the search; baselines are not repeated
    try:
        found = sh.judge(f"{program_path}:{CLASS}", families=FAMILIES, quick=True, threads=1, out=out)
    except sh.ScenarioError as error:
        return EvaluationResult({"combined_score": 0.0}, {"error": str(error)})
    artifacts = {
        f"{one.row.family.name} {one.row.row.name}": f"{one.row.note}\n{one.account}"[:LONGEST]
        for one in found.failures
    }
    return EvaluationResult({"combined_score": found.score, **found.grades}, artifacts)
