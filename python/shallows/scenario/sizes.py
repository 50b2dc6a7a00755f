"""Checks of a scenario against the limits of links, and of packets per flow (`shallows.base.limits`)."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.scenario import port_request
from shallows.units import NEVER, RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.scenario.model import Scenario


def check_links(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a link outside the limits of rate and delay, or for too many links."""
    network = scenario.graph
    rates, delays, delays_ps = limits.LINK_RATE, limits.DELAY, network.delay_ps
    for link in np.flatnonzero((network.rate_bps < rates.least) | (delays_ps > delays.most))[:1]:
        rate, delay = RATE.text(int(network.rate_bps[link])), TIME.text(int(delays_ps[link]))
        text = f"{network.port_names[link]} of {rate}, {delay} long"
        expected = f"links of at least {RATE.text(rates.least)} and at most {TIME.text(delays.most)}"
        raise ScenarioError("topology", text, expected)
    links, nics = len(network.link_from), int(np.count_nonzero(network.link_from < network.hosts))
    most, longest = limits.ENTITIES.most, int(delays_ps.max(initial=0))
    far = longest > limits.FAR_DELAY.most
    if 2 * links + nics <= (limits.FEW_ENTITIES if far else most):
        return
    with_classes = links if np.any(port_request.to_core(scenario, network).schedule.of_link) else 0
    count = links + nics + with_classes
    found = f"{links} links, {nics} ports of hosts and {with_classes} links with classes"
    if count > most:
        expected = f"at most {most} of these together, not {count}: a smaller network"
        raise ScenarioError("topology", found, expected)
    if far and count > limits.FEW_ENTITIES:
        found += f", a link {TIME.text(longest)} long"
        expected = (
            f"links of at most {TIME.text(limits.FAR_DELAY.most)} in a network with more than "
            f"{limits.FEW_ENTITIES} of these together, not {count}: the event queue holds 0.27 s ahead"
        )
        raise ScenarioError("topology", found, expected)


def check_flows(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a flow with more packets than its sequence numbers count."""
    flows, frame = scenario.flows, scenario.frame
    most = limits.MESSAGE.most * frame.payload
    for flow in np.flatnonzero(flows.bytes > most)[:1]:
        text = SIZE.text(int(flows.bytes[flow]))
        expected = f"flows of at most {limits.MESSAGE.most} packets, {SIZE.text(most)}"
        raise ScenarioError(f"traffic[{flows.group[flow]}]", text, expected)
    if scenario.duration == NEVER or flows.bytes.all():
        return
    # Credits leave at the pace of the receiver's link.
    rates = scenario.graph.host_rate_bps
    fastest_bps = np.maximum(rates[flows.src], rates[flows.dst]).astype(float)
    stop_ps = np.minimum(flows.stop_ps, scenario.duration).astype(float)
    frames = (stop_ps - flows.start_ps) * 1e-12 * fastest_bps / (8 * frame.wire)
    for flow in np.flatnonzero((flows.bytes == 0) & (frames > limits.STREAM.most))[:1]:
        fits_ps = int(limits.STREAM.most * 8e12 * frame.wire / fastest_bps[flow])
        speed, fits = RATE.text(int(fastest_bps[flow])), TIME.text(fits_ps // 10**9 * 10**9)
        expected = (
            f"at most {fits}, in which flow {flow} can send {limits.STREAM.most} packets at {speed}, "
            "the limit of its sequence numbers; or a larger network.mtu"
        )
        raise ScenarioError("duration", TIME.text(scenario.duration), expected)
