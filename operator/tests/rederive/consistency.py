"""Checks that the numbers of a valid case are consistent with each other."""

from .cases import samples


def check(case, tally):
    """Compares each number that follows from others in the same record."""
    for posted in case.posted:
        where, counters = f"round {case.round} {case.key}", posted["counters"]
        count = sum(samples(posted).values())
        tally.compare("consistency", f"{where} samples", count, posted["operations"])
        tally.compare(
            "consistency", f"{where} payloadBytes", posted["payloadBytes"], posted["operations"] * case.key[1]
        )
        tally.compare("consistency", f"{where} bytesPerRail", sum(counters["bytesPerRail"]), posted["payloadBytes"])
        tally.compare("consistency", f"{where} postsPerRail", sum(counters["postsPerRail"]), counters["posts"])
        flagged = counters["more"] + counters["appDoorbells"]
        tally.compare("consistency", f"{where} more", flagged, counters["posts"])
