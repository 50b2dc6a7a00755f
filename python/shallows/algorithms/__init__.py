"""Algorithms and markings: the core's catalog, users' own classes, and defaults that follow the network."""
