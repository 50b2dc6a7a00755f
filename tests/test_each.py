"""One test of many names reports all that fail."""

import pytest

from each import each


def failures(cases, check):
    with pytest.raises(pytest.fail.Exception) as failed:
        each(cases)(check)()
    return str(failed.value).splitlines()


def test_every_case_that_fails_is_reported_with_its_place():
    def check(number, name):
        assert number < 3, name
        if number == 2:
            raise ValueError("two")

    head, *said = failures([(1, "a"), (2, "b"), (3, "c"), (4, "d")], check)
    assert head == "3 of 4 cases fail:"
    cases = [line for line in said if "test_each.py:" in line]
    assert [line.split(": ")[0].strip() for line in cases] == ["2, b", "3, c", "4, d"]
    assert cases[0].endswith("ValueError: two")
    assert "AssertionError: c" in cases[1]
    assert each([(1, "a")])(check)() is None


def test_a_case_that_skips_or_no_case_fails():
    assert failures([(1,)], lambda number: pytest.skip("why"))[1].endswith("Skipped: why")
    with pytest.raises(AssertionError, match="at least one case"):
        each([])(print)()


def test_a_test_has_the_name_of_its_check_and_no_arguments():
    @each([(1,)])
    def test_of_one(number):
        """What it says."""

    assert (test_of_one.__name__, test_of_one.__doc__) == ("test_of_one", "What it says.")
    assert test_of_one.__code__.co_argcount == 0
