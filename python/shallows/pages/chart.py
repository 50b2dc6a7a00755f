"""`chart`, under the path that the documentation names for pages of one's own."""

from shallows.html.chart import chart

__all__ = ["chart"]
