"""The worlds a scenario can run in: packet, fluid, and whatever else stands beside them in this folder.

A world is a module with `run(scenario, on_progress=None) -> Run`. One that cannot express every scenario
has `check(scenario)` too, which raises `ScenarioError` before anything runs. To add one, write its module
here and name it in `shallows.runner.WORLDS`.
"""
