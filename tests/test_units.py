"""Quantities: exact both ways, and one sentence for each mistake."""

import pytest

from shallows.units import RATE, SIZE, TIME, did_you_mean, share

READ = [
    (TIME, "200us", 200_000_000),
    (TIME, "1.2304us", 1_230_400),
    (TIME, "0.1ns", 100),
    (TIME, "1s", 10**12),
    (TIME, "5 ms", 5 * 10**9),
    (TIME, "2e3ns", 2 * 10**6),
    (TIME, "4µs", 4 * 10**6),
    (SIZE, "1500B", 1500),
    (SIZE, "250KB", 250_000),
    (SIZE, "64KiB", 65_536),
    (SIZE, "1.5MB", 1_500_000),
    (RATE, "10Gbps", 10**10),
    (RATE, "0.1Gbps", 10**8),
    (RATE, "1.6Tbps", 16 * 10**11),
]


@pytest.mark.parametrize(("dimension", "text", "amount"), READ)
def test_text_becomes_an_exact_integer(dimension, text, amount):
    assert dimension.parse(text) == amount


WRITTEN = [
    (TIME, 200_000_000, "200us"),
    (TIME, 0, "0s"),
    (TIME, 1_500_000_000, "1.5ms"),
    (TIME, 1, "1ps"),
    (SIZE, 1500, "1500B"),
    (SIZE, 250_000, "250KB"),
    (SIZE, 65_536, "64KiB"),
    (RATE, 10**10, "10Gbps"),
    (RATE, 2_500_000_000, "2.5Gbps"),
]


@pytest.mark.parametrize(("dimension", "amount", "text"), WRITTEN)
def test_the_shortest_exact_text_is_written(dimension, amount, text):
    assert dimension.text(amount) == text


def test_a_packet_is_whatever_the_frame_says():
    assert SIZE.parse("35pkt", frame=1500) == 52_500
    assert SIZE.parse("35pkt", frame=9000) == 315_000
    assert SIZE.text(52_500, frame=1500) == "35pkt"
    assert SIZE.text(52_501, frame=1500) == "52501B"


def test_a_hint_names_every_key_that_the_word_may_stand_for():
    known = ["kind", "hosts", "rate", "edge_rate", "rtt"]
    assert did_you_mean("host_rate", known) == '; did you mean "rate" or "edge_rate"?'
    assert did_you_mean("rates", known) == '; did you mean "rate"?'
    assert did_you_mean("colour", known) == ""


def test_writing_and_reading_gives_the_same():
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(deadline=None, derandomize=True)
    @given(st.sampled_from([TIME, SIZE, RATE]), st.integers(0, 10**13), st.sampled_from([None, 1500, 9000]))
    def holds(dimension, amount, frame):
        frame = frame if dimension is SIZE else None
        assert dimension.parse(dimension.text(amount, frame), frame) == amount

    holds()


@pytest.mark.parametrize(
    ("dimension", "text", "expected"),
    [
        (TIME, 200, "a time with its unit (ps, ns, us, µs, ms, s)"),
        (TIME, "200", "a time with its unit"),
        (TIME, "10Gbps", "a time with its unit"),
        (TIME, "-1us", "a time of 0 or more"),
        (TIME, "0.5ps", "a time of whole ps"),
        (TIME, "1e99s", "a time of at most 1000000s"),
        (TIME, "fast", "a time with its unit"),
        (SIZE, "35pkt", "a size with its unit (B, KB, MB"),
        (SIZE, "250kb", 'did you mean "250KB"?'),
        (RATE, "10gbps", 'did you mean "10Gbps"?'),
        (RATE, True, "a rate with its unit"),
    ],
)
def test_a_mistake_is_reported_with_what_was_expected(dimension, text, expected):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        dimension.parse(text)
    assert expected in str(error.value)


def test_a_share_is_a_number_or_a_percentage():
    assert share(0.4) == share("40%") == 0.4
    for wrong in (0, 1.2, "140%", "0.4", True, None):
        with pytest.raises(ValueError, match="a share above 0"):
            share(wrong)


@pytest.mark.parametrize(
    ("dimension", "amount", "text"),
    [
        (TIME, 966_480, "966ns"),
        (TIME, 8_165_440, "8.17us"),
        (TIME, 57_796_100_000_000, "57.8s"),
        (TIME, 999_600, "1us"),
        (TIME, 12, "12ps"),
        (TIME, 0, "0ps"),
        (RATE, 198_122_997_000_000, "198Tbps"),
        (RATE, 45_110_000, "45.1Mbps"),
        (SIZE, 1536, "1.54KB"),
    ],
)
def test_about_has_three_digits_in_the_fitting_unit(dimension, amount, text):
    assert dimension.about(amount) == text
