"""Load sweeps: their rates, and the highest rate that each arm sustains."""

import math
import statistics

from . import inference
from .tally import ROUNDING

MIN_SHARE = 0.95
MAX_RATIO = 10
# Error level of the capacity interval.
LEVEL = 0.05
MAX_SWEEPS = 32


def rates(sweep):
    """The rates of a sweep: steps of the same ratio, rounded half up."""
    ratio, last = sweep["to"] / sweep["from"], sweep["steps"] - 1
    return [math.floor(sweep["from"] * ratio ** (step / last) + 0.5) for step in range(sweep["steps"])]


def expanded(scenario):
    """The scenarios that are measured for a scenario in the spec: one for each rate if it has a sweep."""
    for field in ("transfer", "smallMessages", "rpc"):
        sweep = ((scenario.get(field) or {}).get("load") or {}).get("sweep")
        if sweep:
            return [at_rate(scenario, field, sweep, rate) for rate in rates(sweep)]
    return [scenario]


def at_rate(scenario, field, sweep, rate):
    """The scenario that is measured for one rate. `field` is its workload."""
    load = {"openLoop": {"rate": rate, "arrivals": sweep.get("arrivals", "Poisson")}}
    counts = [one for one in scenario.get("operationCounts") or [] if one.get("rate") == rate]
    changed = {"name": f"{scenario['name']}-{rate}", "sweep": scenario["name"], "operationCounts": counts}
    return scenario | changed | {field: scenario[field] | {"load": load}}


def share(case):
    """The intended duration of an open loop as a fraction of the measured one; None if either is missing."""
    found = []
    for one in case.posted:
        elapsed = max(one["elapsedNanos"] - one["minNanos"], 0)
        intended = (one.get("openLoop") or {}).get("intendedNanos")
        if not intended or not elapsed:
            return None
        found.append(intended / elapsed)
    return min(found, default=None)


class Point:
    """The values of an arm at one rate: medians over the rounds."""

    def __init__(self, run, scenario, length, arm):
        key = (scenario.name, length, arm)
        posters = scenario.threads * (2 if scenario.both_post else 1)
        self.rate = scenario.rate
        completed = run.by_round(key, lambda case: case.value("CompletionRate"))
        self.completed = [value / posters for value in completed.values()]
        self.share = run.median(key, share)
        self.p50 = run.median(key, lambda case: case.value("LatencyP50"))
        self.p99 = run.median(key, lambda case: case.value("LatencyP99"))

    def sustained(self, reference):
        """Whether the rate is sustained, given the 99th percentile of latency at the lowest rate."""
        if None in (self.share, self.p99, reference):
            return None
        return self.share >= MIN_SHARE and self.p99 <= MAX_RATIO * reference


def knee(answers):
    """The position of the knee, the highest sustained rate and the next rate. `answers` contains pairs of a rate and
    whether it is sustained, in ascending order. None if an unknown value would decide the knee."""
    decisive = next((index for index, (_, answer) in enumerate(answers) if not answer), None)
    if decisive is None:
        return {"position": "AboveRange"}
    if answers[decisive][1] is None:
        return None
    if not decisive:
        return {"position": "BelowRange"}
    return {"position": "InRange", "rate": answers[decisive - 1][0], "nextRate": answers[decisive][0]}


def capacity(points):
    """The completed rate of each round, at the saturated rate for which their median is highest; empty if no rate is
    saturated."""
    saturated = [point for point in points if point.share is not None and point.share < MIN_SHARE and point.completed]
    return max((point.completed for point in saturated), key=statistics.median, default=[])


def check(run, status, items, tally):
    """Compares every sweep in the status."""
    found = {}
    for scenario in run.plan.scenarios:
        for length in scenario.sizes if scenario.sweep else []:
            for arm in run.plan.names():
                points = found.setdefault((scenario.sweep, length, arm), [])
                points.append(Point(run, scenario, length, arm))
    measured = [key for key, points in found.items() if any(point.p50 is not None for point in points)]
    fields = ("scenario", "sizeBytes", "arm")
    for key, stored in items(status, "sweeps", fields, measured[:MAX_SWEEPS], tally):
        check_one(f"sweeps {key}", found[key], stored, tally)


def check_one(where, points, stored, tally):
    answers = [(point.rate, point.sustained(points[0].p99)) for point in points]
    tally.compare("knee", f"{where} knee", stored.get("knee"), knee(answers))
    rounds = capacity(points)
    derived = round(statistics.median(rounds)) if rounds else None
    tally.compare("capacity", f"{where} capacity", stored.get("capacity"), derived, ROUNDING)
    ends = inference.interval([math.log(value) for value in rounds], LEVEL) or (None, None)
    for field, end in zip(("capacityLower", "capacityUpper"), ends):
        derived = None if end is None else round(math.exp(end))
        tally.compare("capacity", f"{where} {field}", stored.get(field), derived, ROUNDING)
    listed = {one["rate"]: one for one in stored.get("points", [])}
    if tally.omits and not listed:
        return
    for point, (rate, answer) in zip(points, answers):
        one = listed.get(rate, {})
        fields = {"completedRate": statistics.median(point.completed) if point.completed else None}
        fields |= {"p50Nanos": point.p50, "p99Nanos": point.p99}
        for field, value in fields.items():
            derived = None if value is None else round(value)
            tally.compare("point", f"{where} {rate} {field}", one.get(field), derived, ROUNDING)
        tally.compare("sustained", f"{where} {rate} sustained", one.get("sustained"), answer)
