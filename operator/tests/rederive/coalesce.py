"""Decides whether coalescing, which uses fewer rails for a transfer, took effect."""

import collections

from .traffic import COVERAGE

# Maximum number of bytes that the interface of a rail without payload may count: this fraction of the payload of all
# rails, plus a fixed number for each case.
IDLE_FRACTION, IDLE_BYTES = 0.01, 64 * 1024


def engagement(shape, of_baseline, rails, cases):
    """Engagement of an arm that splits a transfer into this shape. Each GPU has `rails` rails."""
    if shape == of_baseline:
        return "NotApplicable"
    planned = shape[0]
    counters = [one["counters"] for case in cases for one in case.posted]
    sent = rail_bytes(counters)
    used, expected = sum(map(bool, sent)), planned * max(len(sent) // rails, 1)
    if max(one["railsPlanned"] for one in counters) != planned or used < expected:
        return "NotEngaged"
    interfaces = separate_interfaces(len(sent), cases)
    if not interfaces or used > expected:
        return "RequestedOnly"
    idle = int(sum(sent) * IDLE_FRACTION) + IDLE_BYTES * len(cases)
    plausible = (
        interfaces[rail] >= posted * COVERAGE if posted else interfaces[rail] <= idle
        for rail, posted in enumerate(sent)
    )
    return "Confirmed" if all(plausible) else "NotEngaged"


def rail_bytes(counters):
    """Payload bytes posted on each rail, summed over all cases."""
    sent = [0] * max(len(one["bytesPerRail"]) for one in counters)
    for one in counters:
        for rail, count in enumerate(one["bytesPerRail"]):
            sent[rail] += count
    return sent


def separate_interfaces(rails, cases):
    """Bytes that each rail's interface counted at the initiators, in both directions; None unless every rail has a
    separate interface."""
    deltas = [delta for case in cases for delta in case.sides[0].get("interfaces", [])]
    counted = collections.Counter()
    for delta in deltas:
        counted[delta["rails"][0] if delta["rails"] else None] += delta["txBytes"] + delta["rxBytes"]
    separate = rails > 1 and len(counted) == rails and all(len(delta["rails"]) == 1 for delta in deltas)
    return counted if separate else None
