"""Self-contained HTML pages of a run, a comparison, critical paths, and the papers."""
