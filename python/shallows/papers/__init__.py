"""The five papers that Shallows measures itself against, claim by claim.

A module a paper, a function a figure. A function states its claim before it runs (`claim.Paper.row`): the
scenario, what is measured, the paper's number and where it was read, the tolerance and its reason, what is known to
differ. It is measured with several seeds (`survey`), and the numbers alone decide the verdict (`verdict`).
"""

from shallows.papers.dx import DX
from shallows.papers.ecn_or_delay import ECN_OR_DELAY
from shallows.papers.expresspass import EXPRESSPASS
from shallows.papers.inigo import INIGO
from shallows.papers.poster import POSTER

PAPERS = (DX, EXPRESSPASS, POSTER, ECN_OR_DELAY, INIGO)

__all__ = ["DX", "ECN_OR_DELAY", "EXPRESSPASS", "INIGO", "PAPERS", "POSTER"]
