"""The worlds a scenario can run in: packet, and whatever else stands beside it in this folder.

A world is a module with `run(scenario, on_progress=None) -> Run`. It raises `ScenarioError` for what it
cannot express. To add one, write its module here; the command line finds it by name.
"""
