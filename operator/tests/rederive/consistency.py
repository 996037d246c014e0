"""Checks that the numbers of a valid case are consistent with each other."""

from . import calls
from .cases import samples, timed


def check(case, off_fabric, tally):
    """Compares each number that follows from others in the same record."""
    for posted in case.posted:
        where, counters = f"round {case.round} {case.key}", posted["counters"]
        count = sum(samples(posted).values())
        window = timed(posted)
        tally.compare("consistency", f"{where} samples", count, window["operations"])
        of_window = window["operations"] * case.key[1]
        tally.compare("consistency", f"{where} payload in the window", window["payloadBytes"], of_window)
        tally.compare(
            "consistency", f"{where} payloadBytes", posted["payloadBytes"], posted["operations"] * case.key[1]
        )
        sent = sum(counters["bytesPerRail"])
        tally.compare("consistency", f"{where} bytesPerRail", sent, posted["payloadBytes"] * messages(case, off_fabric))
        tally.compare("consistency", f"{where} postsPerRail", sum(counters["postsPerRail"]), counters["posts"])
        flagged = counters["more"] + counters["appDoorbells"]
        tally.compare("consistency", f"{where} more", flagged, counters["posts"])


def messages(case, off_fabric):
    """Number of messages with payload that a worker posts for an operation."""
    if off_fabric:
        return 0
    return calls.payload_messages(case.scenario, case.key[1]) if case.scenario.kind == "rpc" else 1
