"""The base of tables, names, texts, limits, versions and optional libraries: what every other part uses."""
