"""Physical limits of a measurement: the line rate of the links and the minimum latency."""

import itertools

from . import histogram
from .cases import measured_window, samples
from .protocols import LANES

TOLERANCE = 0.01
# Minimum one-way latency in nanoseconds, through a network interface and through memory.
FLOOR_INTERFACE, FLOOR_MEMORY = 200, 5


def line_rate(facts, *posted):
    """Total rate of the links that carried the bytes, in bits per second; None unless all rates are known."""
    links = {}
    per_rail = [one["counters"]["bytesPerRail"] for one in posted]
    for rail, sent in enumerate(map(sum, itertools.zip_longest(*per_rail, fillvalue=0))):
        if not sent:
            continue
        one = facts["rails"][rail] if rail < len(facts["rails"]) else {}
        if not one.get("pci") or not one.get("interface") or one.get("lineBitsPerSecond") is None:
            return None
        links.setdefault(one["interface"], one["lineBitsPerSecond"])
    return sum(links.values()) or None


def is_above_line_rate(side, facts, directions=1):
    """Whether a worker posted payload at a higher rate than its links can carry. The payload may use both directions."""
    posted = side.get("posted")
    line = line_rate(facts, posted) if posted and facts else None
    window = measured_window(posted) if posted else {}
    return bool(line) and window["payloadBytes"] / directions * 8e9 / max(window["elapsedNanos"], 1) > line * (1 + TOLERANCE)


def is_below_floor(case, facts):
    """Whether a ping-pong's median is below the minimum latency."""
    posted = case.sides[0].get("posted")
    if case.scenario.kind != "pingPong" or not posted:
        return False
    median = histogram.quantile(samples(posted), 0.5)
    rails = facts["rails"] if facts else []
    in_memory = any(lane.split("/")[0] in LANES["sm"] for rail in rails for lane in rail.get("lanes", []))
    through_interface = any(rail.get("interface") for rail in rails) and not in_memory
    floor = FLOOR_INTERFACE if through_interface else FLOOR_MEMORY
    if line := facts and line_rate(facts, posted):
        floor = max(floor, int(case.key[1] * 8e9 / (line * (1 + TOLERANCE))))
    return median is not None and median < floor
