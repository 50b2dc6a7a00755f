"""Exit status of commands, and errors as one message on stderr."""

import re
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Never

import typer

from shallows.algorithms import user_algorithms
from shallows.base import names, streams
from shallows.errors import BooksError, ScenarioError

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
PAGES = {
    "topology": "scenario-topology",
    "network": "scenario-network",
    "hosts": "scenario-hosts",
    "cc": "scenario-cc",
    "traffic": "scenario-traffic",
    "classes": "scenario-classes",
    "pools": "scenario-classes",
    "ports": "scenario-ports",
    "faults": "scenario-faults",
    "record": "scenario-record",
} | dict.fromkeys(("name", "seed", "duration", "warmup", "cooldown"), "scenario")
"""The page of docs/ that describes a key, by the first word of the key."""


def with_status(command: Callable[..., int]) -> Callable[..., Never]:
    """A typer command from a function that returns its exit status. Errors become a message on stderr."""

    @wraps(command)
    def wrapped(**options: object) -> Never:
        raise typer.Exit(_status(command, options))

    return wrapped


def _status(command: Callable[..., int], options: dict[str, object]) -> int:
    try:
        return command(**options)
    except KeyboardInterrupt as when:
        return interrupted(when)
    except BooksError as error:
        return _complain(str(error), FAILED)
    except BrokenPipeError:
        streams.discard()
        return FAILED
    except ScenarioError as error:
        return _complain("\n".join([str(error), *_pages(error)]), MISTAKE)
    except OSError as error:
        return _complain(str(error), MISTAKE)
    except MemoryError as error:
        return _complain(f"out of memory ({error}): expected a smaller scenario, or more memory", FAILED)
    except Exception as error:
        if type(error).__name__ == "Bug":
            return _complain("\n".join([f"a bug in Shallows: {error}", *error.__notes__]), FAILED)
        of_user = user_algorithms.frames(error)
        if of_user is None:
            raise
        lines = traceback.format_exception(type(error), error, of_user)
        return _complain("an algorithm in Python failed\n" + "".join(lines).rstrip(), FAILED)


def _pages(error: ScenarioError) -> list[str]:
    """A line with the pages that describe the wrong keys; none if none of them is a key of a scenario."""
    words = [re.split(r"\W", one.key or "", maxsplit=1)[0] for one in error.every]
    pages = dict.fromkeys(PAGES[word] for word in words if word in PAGES)
    named = f"page{'s'[: len(pages) > 1]} {', '.join(pages)}"
    return [f"The keys are described on {named} of the documentation."] if pages else []


def interrupted(when: KeyboardInterrupt) -> int:
    """Print that Ctrl-C ended the command, and what was saved."""
    from shallows.results.store import written

    kept = f"after it had written {', '.join(written)}" if written else "before there was anything to save"
    return _complain(f"interrupted {str(when) or kept}", INTERRUPTED)


def after_saving(what: str, write: Callable[[], object]) -> bool:
    """True if `write` succeeds. The results are saved, so an error is only a note."""
    try:
        write()
    except ScenarioError as error:
        print(f"shallows: {names.terminal(str(error))}", file=sys.stderr)
        return False
    except Exception as error:  # whatever a library raises, the results are safe
        text = names.terminal(f"{type(error).__name__}: {error}".strip())
        print(f"shallows: {what} could not be written ({text})", file=sys.stderr)
        return False
    return True


def _complain(message: str, status: int) -> int:
    print(f"shallows: {names.terminal(message)}", file=sys.stderr)
    return status
