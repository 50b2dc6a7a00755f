"""`document`, under the path that the documentation names for pages of one's own."""

from shallows.html.document import document

__all__ = ["document"]
