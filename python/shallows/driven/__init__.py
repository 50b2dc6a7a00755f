"""A run that a program drives: it sends messages, advances the time, copies the run, and closes it.

    with shallows.open("fabric.toml") as network:
        message = network.send("h0", "h5", "4MB")
        network.advance(until=message)
        print(message.fct_us)
        run = network.run()

docs/driven.md explains it. The run is that of a scenario with the same messages in the same order: `log` is
this scenario, and the run that `run()` returns has it, so that everything that works on runs works on it.
"""

from shallows.driven.message import Message
from shallows.driven.network import OpenNetwork, open, transfers

__all__ = ["Message", "OpenNetwork", "open", "transfers"]
