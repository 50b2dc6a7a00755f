"""Random scenarios, lawful, bent and hostile, and what must hold of every one of them: `make soak`."""
