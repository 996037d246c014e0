"""Deviations of node pairs and individual nodes from the median pair."""

import collections
import functools
import math
import statistics

from .inference import HIGHER_IS_BETTER
from .tally import ROUNDING

MIN_PAIRS = 3
MAX_PAIRS, MAX_NODES = 16, 64


def pairs(run):
    """Log ratio of each node pair to the median pair, for the baseline, by (scenario, size, initiator, target)."""
    found = {}
    for scenario in run.plan.scenarios:
        for length in scenario.sizes:
            values = collections.defaultdict(list)
            for case in run.valid((scenario.name, length, run.plan.baseline.name)):
                value = case.value(scenario.primary)
                nodes = tuple(run.records.node(case.stream, rank) for rank in case.pair)
                if value is not None and None not in nodes:
                    values[nodes].append(value)
            medians = {nodes: statistics.median(of_pair) for nodes, of_pair in values.items()}
            if len(medians) >= MIN_PAIRS:
                typical = math.log(statistics.median(medians.values()))
                for nodes, median in medians.items():
                    found[scenario.name, length, *nodes] = math.log(median) - typical
    return found


def nodes(run, of_pairs):
    """For each node, the median log ratio of its pairs. A positive value means that the node is worse."""
    primary = {scenario.name: scenario.primary for scenario in run.plan.scenarios}
    values = collections.defaultdict(list)
    for (scenario, _, *both), ratio in of_pairs.items():
        for node in both:
            values[node,].append(-ratio if primary[scenario] in HIGHER_IS_BETTER else ratio)
    return {node: statistics.median(of_node) for node, of_node in values.items()}


def check(run, status, tally):
    """Compares `pairs` and `nodes` in the status: their values, and whether the largest deviations are listed first."""
    of_pairs = pairs(run)
    names = ("scenario", "sizeBytes", "initiator", "target")
    stored = {tuple(one[name] for name in names): one["deviationPpm"] for one in status.get("pairs", [])}
    compare(tally, "pair", stored, of_pairs, abs, MAX_PAIRS)
    stored = {(one["name"],): one["deviationPpm"] for one in status.get("nodes", [])}
    compare(tally, "node", stored, nodes(run, of_pairs), float, MAX_NODES)


def compare(tally, kind, stored, derived, order, limit):
    """Compares the parts per million in the status with the derived log ratios. The status lists the `limit` items
    for which the function `order` returns the largest values, in descending order."""
    if not stored and tally.omits:
        return
    largest = sorted(map(order, derived.values()), reverse=True)[:limit]
    listed = [order(derived.get(key, math.nan)) for key in stored]
    agree = len(listed) == len(largest) and all(map(functools.partial(math.isclose, abs_tol=1e-9), listed, largest))
    tally.compare(kind, f"order of {kind}s", "descending" if agree else listed, "descending")
    for key, deviation in stored.items():
        ppm = round(1e6 * math.expm1(derived[key])) if key in derived else None
        tally.compare(kind, f"{kind} {key} deviationPpm", deviation, ppm, ROUNDING)
