"""The five papers that Shallows is compared with, claim by claim: `python -m validation`.

This is no part of the package `shallows`, and uses what its users have.

Each paper has a folder, and each module of it a few figures. A figure is a function that measures, in one setting; its claims
are data beside it (`claim.Figure.claim`): the paper's statement, bands with their sources, a tolerance, and a mutation that makes it
fail. `survey` measures figures with several seeds, and `verdict.judge` decides.
"""

from validation.dx import DX
from validation.ecn_or_delay import ECN_OR_DELAY
from validation.expresspass import EXPRESSPASS
from validation.inigo import INIGO
from validation.poster import POSTER

PAPERS = (DX, EXPRESSPASS, POSTER, ECN_OR_DELAY, INIGO)

__all__ = ["DX", "ECN_OR_DELAY", "EXPRESSPASS", "INIGO", "PAPERS", "POSTER"]
