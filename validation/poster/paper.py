"""The poster."""

from validation.claim import Paper

POSTER = Paper(
    "poster",
    "Poster",
    "Reviving Delay-based TCP for Data Centers",
    "Lee, Jang and Moon, SIGCOMM 2012 (poster)",
)
