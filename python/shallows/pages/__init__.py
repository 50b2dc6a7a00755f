"""HTML pages that need nothing but themselves: of a run, a comparison, critical paths, the papers."""
