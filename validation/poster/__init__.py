"""Claims of the poster that led to DX: where windows end, and a delay-based algorithm's queue.

Source: Lee, Jang and Moon, "Reviving Delay-based TCP for Data Centers", SIGCOMM 2012 (poster).
"""

from validation.poster import channel, reach, windows
from validation.poster.paper import POSTER

__all__ = ["POSTER", "channel", "reach", "windows"]  # the modules add their figures to the paper
