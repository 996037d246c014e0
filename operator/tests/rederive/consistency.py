"""Checks that the numbers of a valid case are consistent with each other."""

from .cases import samples, timed


def check(case, tally):
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
        tally.compare("consistency", f"{where} bytesPerRail", sum(counters["bytesPerRail"]), posted["payloadBytes"])
        tally.compare("consistency", f"{where} postsPerRail", sum(counters["postsPerRail"]), counters["posts"])
        flagged = counters["more"] + counters["appDoorbells"]
        tally.compare("consistency", f"{where} more", flagged, counters["posts"])
