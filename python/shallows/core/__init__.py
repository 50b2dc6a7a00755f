"""The compiled core as Python sees it: the types of its request and its answer (docs/crossing.md)."""
