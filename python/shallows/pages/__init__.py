"""Pages of results, and the page of a network over the time of a run, in a browser."""
