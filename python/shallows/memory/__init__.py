"""Memory: what this process may still use, by whose limit, and what runs and tables need.

Every estimate is compared before the memory is used: `check` refuses what does not fit.
"""

from shallows.memory.bounds import text
from shallows.memory.check import TooLargeError, check

__all__ = ["TooLargeError", "check", "text"]
