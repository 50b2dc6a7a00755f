"""Settings of switches and NICs as parts of a scenario, and scenarios as settings.

`config_db` reads the tables of SONiC that concern queues and buffers, `sonic` and `sonic_export` translate
them, and `mlx5` does the same for the DCQCN settings of NVIDIA's NICs. `Fragment` is what reading gives.
`writing` compares what is written with the scenario. docs/settings.md describes the translations.
"""
