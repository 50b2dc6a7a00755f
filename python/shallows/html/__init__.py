"""Documents and charts in HTML."""
