"""RDMA reads measured on m4's testbed of 12 hosts (github.com/netiken/m4, testbed/eval_test/testbed).

Durations of the lines `[rdma]` of real_world.txt, and of `resp_rdma_read` of c10.txt, in windows of one read
(100 KB: of two). An idle read is the value to which reads without others return, for a client on the server's
side of the core (near) or on the other (far). A loaded read is the median while all eleven clients read. One
number of the scenario is fitted, to the far idle read of 250 KB; every other row is a prediction.
"""

import numpy as np
import pytest

import shallows as sh

NEAR, FAR = "h4", "h6"
FITTED = (250, FAR, 235.3)
IDLE = [(100, NEAR, 98.0), (100, FAR, 102.6), (250, NEAR, 230.7), (500, NEAR, 452.0), (1000, FAR, 898.7)]
LOADED = [(250, 2447.0), (500, 4590.0), (1000, 9320.0)]
TOLERANCE = 0.15


def reads_us(kb, **overrides):
    """Durations of reads of `kb` KiB and 8 B, in the order of their starts."""
    base = sh.Scenario.load("rdma-testbed")
    keys = {f"traffic.0.{key}": value for key, value in overrides.items()}
    run = sh.run(base.replace({"traffic.0.response": f"{1024 * kb + 8}B", **keys}))
    return run.flows["exchange_us"].dropna().to_numpy()


@pytest.mark.parametrize(("kb", "client", "measured"), [FITTED, *IDLE])
def test_an_idle_read_takes_as_long_as_on_hardware(kb, client, measured):
    tolerance = 0.001 if (kb, client, measured) == FITTED else TOLERANCE
    took = reads_us(kb, **{"from": [client], "to": ["h0"], "exchanges": 3})
    assert took[-1] == pytest.approx(measured, rel=tolerance)


@pytest.mark.parametrize(("kb", "measured"), LOADED)
def test_reads_of_eleven_clients_take_as_long_as_on_hardware(kb, measured):
    took = reads_us(kb)
    assert np.median(took[33:-22]) == pytest.approx(measured, rel=TOLERANCE)
