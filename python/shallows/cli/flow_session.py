"""`shallows flow-session`: a network that another program drives over pipes."""

import os
import signal
import sys
from typing import Annotated

import typer

from shallows.cli.signals import ENDING
from shallows.cli.status import DONE, FAILED, with_status


@with_status
def flow_session(
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="The scenario of a profile; repeat for each. SHALLOWS_FLOW_PROFILES has more, "
            "separated as in PATH.",
        ),
    ] = None,
) -> int:
    """Serve one session of simllm-htsim-flow-session-v1 over standard input and output.

    Frames are a length of 32 bits and canonical JSON. The session ends with its input, after an error too.
    """
    from shallows.worlds import flow_session as session

    scenarios = session.profiles(profile or (), os.environ)
    for number in ENDING:  # nothing is saved, and nobody waits for an answer: a signal ends the process
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        closed = session.serve(scenarios, sys.stdin.fileno(), sys.stdout.fileno())
    except BrokenPipeError:
        return FAILED
    return DONE if closed else FAILED
