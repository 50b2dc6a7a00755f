"""One test of many names, where `pytest.mark.parametrize` would make a test of each."""

import traceback
from pathlib import Path

import pytest


def each(cases):
    """Make a check, a function of the values of a case, one test that tries all cases.

    It reports every case that fails, and where. A case that would skip fails too: it would hide the rest.
    """

    def decorate(check):
        def test():
            tried = [*cases]
            assert tried, "expected at least one case"
            failures = [failure for case in tried if (failure := _failure(check, case))]
            if failures:
                head = f"{len(failures)} of {len(tried)} cases fail:"
                pytest.fail("\n".join([head, *failures]), pytrace=False)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def _failure(check, case):
    try:
        check(*case)
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == check.__code__.co_filename] or frames
        at = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
        said = str(error).replace("\n", "\n    ")
        return f"  {', '.join(map(str, case))}: {at}: {type(error).__name__}: {said}"
    return None
