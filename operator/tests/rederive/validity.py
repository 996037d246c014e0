"""Decides why a measured case is invalid. The reasons have the names in docs/troubleshooting.md."""

from . import consistency, histogram, limits
from .cases import measured_window, samples

# In a window that is longer than this many nanoseconds, operations must fill at least the fraction below.
SHORT_WINDOW = 10_000_000
MIN_FILLED = 0.01
# Histograms round latencies up, so the sum of the latencies may exceed its limit by this fraction.
LATENCY_TOLERANCE = 0.02


def reasons(case, endpoints, corrupt, off_fabric):
    """Yields the name of every reason. `corrupt` contains the cells in which an integrity case failed.
    `off_fabric` is true for calls outside the transport."""
    if not case.measured:
        yield "Failed"
    elif not case.posted or not all(has_measurements(one, case) for one in case.posted):
        yield "NothingMeasured"
    if any(side.get("throttledNanos") for side in case.sides):
        yield "Throttled"
    if any(side["migrations"] for side in case.sides):
        yield "Migrated"
    if any(side["governorChanged"] for side in case.sides):
        yield "GovernorChanged"
    if case.measured:
        yield from impossible(case, endpoints, off_fabric)
    if case.proof == "Contradicted":
        yield "FabricContradicted"
    if case.key in corrupt:
        yield "Integrity"


def impossible(case, endpoints, off_fabric):
    """Yields the reasons that depend on times or on the endpoints."""
    if any(endpoints.has_changed(case, rank) for rank in case.pair):
        yield "Changed"
    facts = [endpoints.of_case(case, rank) for rank in case.pair]
    configurations = {one.get("configurationSha256") for one in facts if one} - {None}
    if len(configurations) > 1:
        yield "ConfigurationsDiffer"
    directions = 2 if case.scenario.reads_back else 1
    sides = zip(case.sides, facts, strict=True)
    if not (off_fabric or case.scenario.is_command) and any(limits.is_above_line_rate(*side, directions) for side in sides):
        yield "AboveLineRate"
    if not case.scenario.is_command and any(is_inconsistent(side, case.scenario) for side in case.posting):
        yield "InconsistentTime"
    if not case.scenario.is_command and any(contradicts(case, one, off_fabric) for one in case.posted):
        yield "Contradictory"
    if limits.is_below_floor(case, facts[0]):
        yield "BelowFloor"


def has_measurements(posted, case):
    if case.scenario.is_command:
        return case.bounds(case.scenario.primary) is not None
    window = measured_window(posted)
    payload = window["payloadBytes"] or case.key[1] == 0
    return window["operations"] and window["elapsedNanos"] and payload and samples(posted)


def contradicts(case, posted, off_fabric):
    """Whether a count does not follow from the others, or the median latency is outside the extremes."""
    if any(found != expected for _, found, expected in consistency.counts(case, posted, off_fabric)):
        return True
    median = histogram.quantile(samples(posted), 0.5)
    return median is not None and not posted["minNanos"] <= median <= posted["maxNanos"]


def is_inconsistent(side, scenario):
    """Whether the operations took longer than the window, took less time than their latencies require, or filled too
    little of a long window."""
    posted = side.get("posted")
    if not posted:
        return False
    elapsed, window = posted["elapsedNanos"], side["windowNanos"]
    total = sum(value * count for value, count in samples(posted).items())
    too_fast = elapsed < total / scenario.in_flight / (1 + LATENCY_TOLERANCE)
    # The number of calls is fixed, so the calls may be much shorter than the steps around them.
    too_short = window > SHORT_WINDOW and elapsed < window * MIN_FILLED and not scenario.uses_channels
    return elapsed > window or too_fast or too_short


def is_corrupt(result):
    """Whether a case in the integrity pass found wrong bytes, or could not check any."""
    checked = result.get("checked")
    if checked and checked.get("command"):
        # Only the tool can verify a command's data.
        return False
    if not checked:
        return "failed" in result
    wrong = checked.get("firstMismatch") or checked["tornChunks"] or checked["duplicatedChunks"]
    same = checked["crc32cExpected"] == checked["crc32cFound"]
    return bool(wrong) or not same or not (checked["bytes"] or checked["transfers"])
