"""Settings of switches and NICs as parts of a scenario, and scenarios as settings.

`config_db` reads the tables of SONiC that concern queues and buffers, `sonic` translates them in both
directions, and `mlx5` does the same for the DCQCN settings of NVIDIA's NICs. `Fragment` is what reading
gives. docs/settings.md describes the translations.
"""
