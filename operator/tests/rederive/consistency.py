"""Checks that the numbers in a valid case are consistent with each other.

In parameter serving, the versions that workers used are not those that were posted: torn and outdated versions were
also transferred, and in most modes the initiator posts, while the workers are on the target side."""

from . import calls, histogram
from .cases import measured_window, samples


def check(case, off_fabric, tally):
    """Compares each number that follows from others in the same record."""
    for posted in case.posted:
        for name, found, expected in counts(case, posted, off_fabric):
            tally.compare("consistency", f"round {case.round} {case.key} {name}", found, expected)
    if case.scenario.mode:
        check_serving(case, tally)


def counts(case, posted, off_fabric):
    """Yields the name of each count of a posting worker that follows from others, its value and the expected value."""
    counters, window, size = posted["counters"], measured_window(posted), case.key[1]
    yield "samples", sum(samples(posted).values()), window["operations"]
    yield "payload in the window", window["payloadBytes"], window["operations"] * size
    yield "payloadBytes", posted["payloadBytes"], posted["operations"] * size
    if not case.scenario.mode:
        yield "bytesPerRail", sum(counters["bytesPerRail"]), posted["payloadBytes"] * messages(case, off_fabric)
    yield "postsPerRail", sum(counters["postsPerRail"]), counters["posts"]
    yield "more", counters["more"] + counters["appDoorbells"], counters["posts"]


def check_serving(case, tally):
    """Compares the sums over the parameter-serving workers with the distributions over all workers."""
    where, report = f"round {case.round} {case.key}", case.sides[1]["serving"]
    workers = report["workers"]
    steps, versions = (sum(one[field] for one in workers) for field in ("steps", "versions"))
    lags = histogram.decode(report["versionLag"], report["maxVersionLag"])
    times = histogram.decode(report["timeLag"]["histogram"], report["timeLag"]["maxNanos"])
    tally.compare("consistency", f"{where} steps", sum(lags.values()), steps)
    tally.compare("consistency", f"{where} time lags", sum(times.values()), steps)
    tally.compare("consistency", f"{where} versions", versions, case.sides[1]["posted"]["operations"])
    tally.compare("consistency", f"{where} workers", len(workers), case.scenario.threads)
    # Values up to 2047 are exact.
    if report["maxVersionLag"] < 2048:
        total = sum(lag * count for lag, count in lags.items())
        tally.compare("consistency", f"{where} version lags", total, sum(one["versionLagSum"] for one in workers))
        # A version that is published at the time of a step is newer, but has no time lag yet.
        current = lags.get(0, 0)
        tally.compare("consistency", f"{where} version lags of 0", min(current, times.get(0, 0)), current)
    for datagrams in (one["datagrams"] for one in workers if one.get("datagrams")):
        lost = datagrams["sent"] - datagrams["received"]
        tally.compare("consistency", f"{where} lost datagrams", datagrams["lost"], lost)


def messages(case, off_fabric):
    """Number of messages with a payload that a worker posts for an operation."""
    if off_fabric:
        return 0
    return calls.payload_messages(case.scenario, case.key[1]) if case.scenario.kind == "rpc" else 1
