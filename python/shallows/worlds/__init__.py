"""The worlds in which a scenario can run.

A world is a module with `run(scenario, on_progress=None) -> Run`. If it cannot express every scenario, it
also has `check(scenario)`, which raises `ScenarioError` before anything runs. To add a world, write its
module here and name it in `shallows.runner.WORLDS`.
"""
