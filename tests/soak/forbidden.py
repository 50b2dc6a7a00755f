"""Python code that a scenario of the soak names, and that must never be executed."""

raise SystemExit("untrusted code was executed")
