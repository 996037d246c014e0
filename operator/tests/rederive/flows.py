"""The flows of the ManyToMany pattern. If one flow in a round is invalid, all flows in that round are."""

import collections
import statistics

from . import limits
from .cases import Case, measured_window
from .tally import ROUNDING

# Each flow's window must cover at least this share of the span in which the windows of all flows were open.
MIN_SPAN_SHARE = 0.75
PPM = 10**6


class CombinedFlows(Case):
    """All flows of a round as one case, with the posting workers and sides of all flows."""

    def __init__(self, flows):
        self.scenario, self.key, self.round, self.pair = flows[0].scenario, flows[0].key, flows[0].round, None
        self.moves_payload = flows[0].moves_payload
        self.reasons = []
        self.sides = [side for flow in flows for side in flow.sides]
        self.posted = [one for flow in flows for one in flow.posted]


def combine(cases):
    """Combines the flows of each round into one case."""
    rounds = collections.defaultdict(list)
    for case in cases:
        rounds[case.round].append(case)
    return [CombinedFlows(flows) for _, flows in sorted(rounds.items())]


def is_simultaneous(case):
    """Whether a flow's window covers enough of the span in which the windows of all flows were open."""
    span = case.record.get("spanNanos", 0)
    posted = case.sides[0].get("posted")
    if case.scenario.mode and not posted:
        # A different flow of the trainer delivers the versions, or the workers fetch them.
        return True
    window = (posted or {}).get("simultaneous", {}).get("elapsedNanos", 0)
    return span > 0 and window >= span * MIN_SPAN_SHARE


def check_line_rates(cases, endpoints):
    """Invalidates a worker's flows if their combined rate exceeds its line rate."""
    together = collections.defaultdict(list)
    for case in cases:
        if case.measured and case.sides[0].get("posted"):
            for rank in case.pair:
                together[*case.stream, case.record["block"], case.key[2], rank].append(case)
    for (*_, rank), flows in together.items():
        posted = [case.sides[0]["posted"] for case in flows]
        facts = next(filter(None, (endpoints.of_case(case, rank) for case in flows)), None)
        line = facts and limits.line_rate(facts, *posted)
        windows = [one for one in map(measured_window, posted) if one["elapsedNanos"]]
        if line and sum(one["payloadBytes"] * 8e9 / one["elapsedNanos"] for one in windows) > line * (1 + limits.TOLERANCE):
            for case in flows:
                case.reasons.append("FlowsAboveLineRate")


def invalidate_others(cases):
    """Invalidates all flows that ran concurrently with an invalid flow."""

    def key(case):
        return (*case.stream, case.record["block"], case.key[2])

    invalid = {key(case) for case in cases if not case.valid}
    for case in cases:
        if case.valid and key(case) in invalid:
            case.reasons.append("FlowInvalid")


def check(run, key, group, tally):
    """Compares the flow rates in the status with the valid cases."""
    # A trainer's flows deliver the same versions, so their rates are not results.
    have_rates = run.plan.many_to_many and not run.plan.scenario(key[0]).mode
    for field, derived in derive(run.valid(key) if have_rates else []).items():
        tally.compare("flow", f"results {key} {group.name(field)}", group.get(field), derived, ROUNDING)


def derive(valid):
    """The values of the flows by field."""
    of_flow, of_receiver, fairness = collections.defaultdict(list), collections.defaultdict(list), []
    rounds = collections.defaultdict(dict)
    for case in valid:
        window = measured_window(case.sides[0]["posted"])
        rounds[case.round][case.pair] = window["payloadBytes"] / (window["elapsedNanos"] / 1e9)
    for rates in rounds.values():
        sums = collections.Counter()
        for (sender, receiver), rate in rates.items():
            of_flow[sender, receiver].append(rate)
            sums[receiver] += rate
        for receiver, rate in sums.items():
            of_receiver[receiver].append(rate)
        fairness.append(sum(rates.values()) ** 2 / len(rates) / sum(rate**2 for rate in rates.values()))
    flows = [statistics.median(one) for one in of_flow.values()]
    receivers = [statistics.median(one) for one in of_receiver.values()]
    values = {
        "slowestBytesPerSecond": (min, flows, 1),
        "medianBytesPerSecond": (statistics.median, flows, 1),
        "fastestBytesPerSecond": (max, flows, 1),
        "slowestReceiverBytesPerSecond": (min, receivers, 1),
        "fastestReceiverBytesPerSecond": (max, receivers, 1),
        "fairnessPpm": (statistics.median, fairness, PPM),
    }
    return {
        field: round(function(found) * factor) if found else None for field, (function, found, factor) in values.items()
    }
