"""Output on a terminal and in notebooks: reports as tables, and progress."""
