"""Checks the values of one arm at one size."""

import collections
import math

from . import calls, disturbance, flows, footprint, histogram, observations, proof
from .protocols import MOST
from .tally import ROUNDING
from .values import Values

MEDIANS = {
    "bytesPerSecond": ("Throughput", 1),
    "completionsPerSecond": ("CompletionRate", 1),
    "cpuNanosPerGib": ("CpuSecondsPerGib", 1e9),
    "reportedLatencyNanos": ("ReportedLatency", 1),
    "reportedBytesPerSecond": ("ReportedBandwidth", 1),
}
PERCENTILES = {"latencyP50Nanos": 0.5, "latencyP95Nanos": 0.95, "latencyP99Nanos": 0.99, "latencyP999Nanos": 0.999}


def check(run, key, stored, tally):
    """Compares every field in a result. `stored` is empty if the status omits the result."""
    where, cases, valid = f"results {key}", run.measured(key), run.valid(key)
    values = Values(stored)
    of_operations = run.protocols_of(key)
    protocols = [one for found, _ in of_operations.values() for one in found]
    check_protocols(where, protocols[:MOST], stored, tally)
    if stored:
        tally.compare("rounds", f"{where} validRounds", stored["validRounds"], len({case.round for case in valid}))
        tally.compare("validity", f"{where} validity", stored["validity"], "Valid" if valid else "Invalid")
        tally.compare("proof", f"{where} fabric", stored.get("fabric"), proof.weakest(cases))
        emulated = run.endpoints.emulated(run.plan.scenario(key[0]), key[2], of_operations)
        tally.compare("emulated", f"{where} emulated", stored.get("emulated"), emulated)
        check_reason(where, cases, stored, tally)
        stated = {one["optimization"]: one["engagement"] for one in stored.get("optimizations", [])}
        for name, derived in run.engagements(key).items():
            tally.compare("engagement", f"{where} {name}", stated.pop(name, None), derived)
        tally.compare("engagement", f"{where} other optimizations", stated, {})
    check_latencies(where, valid, values, tally)
    check_iterations(run, key, valid, values, tally)
    observations.check(run, key, valid, values, tally)
    if stored or not tally.omits:
        calls.check(run, key, cases, valid, stored.get("call"), values.group("call"), tally)
        footprint.check(run, key, cases, stored.get("footprint"), values.group("footprint"), tally)
    flows.check(run, key, values.group("flows"), tally)
    compare_disturbance(where, values.group("disturbance"), disturbance.derive(run, key), tally)
    load = run.median(key, lambda case: case.cpu_percent())
    tally.compare("median", f"{where} cpuPercent", values.get("cpuPercent"), whole(load), ROUNDING)
    for field, (metric, factor) in MEDIANS.items():
        median = run.median(key, lambda case, metric=metric: case.value(metric))
        if run.is_below_resolution(key, metric):
            # The other cases would be a selection by their values.
            median = None
        derived = whole(None if median is None else median * factor)
        tally.compare("median", f"{where} {field}", values.get(field), derived, ROUNDING)
    tally.compare("values", f"{where} other values", values.others(), [])


def compare_disturbance(where, stored, derived, tally):
    """Compares each value; a large status omits all of them."""
    for field, value in derived.items():
        tally.compare("disturbance", f"{where} {stored.name(field)}", stored.get(field), value, ROUNDING)


def whole(value):
    return None if value is None else round(value)


def check_reason(where, cases, stored, tally):
    """Compares the case counts in `reason`: cases that are invalid for the most frequent reason, and all cases."""
    counts = collections.Counter(reason for case in cases for reason in case.reasons)
    # The reason for an invalid flow explains why the others are invalid.
    others = counts.pop("FlowInvalid", 0)
    counts = counts or collections.Counter({"FlowInvalid": others} if others else {})
    derived = f"{counts.most_common(1)[0][1]} of {len(cases)} cases" if counts else None
    reason = stored.get("reason")
    tally.compare("validity", f"{where} reason", reason and reason.split(":")[0], derived)


def check_protocols(where, protocols, stored, tally):
    found = [
        (one["description"], one["lanes"], one["count"], {name: value for name, value in one.get("steps", {}).items() if value})
        for one in stored.get("protocols", [])
    ]
    if not found and tally.omits:
        tally.skipped["omitted"] += len(protocols)
    else:
        tally.compare("protocols", f"{where} protocols", found, protocols)


def check_latencies(where, valid, values, tally):
    buckets = collections.Counter()
    for case in valid:
        buckets.update(case.buckets)
    count = buckets.total()
    for field, fraction in PERCENTILES.items():
        derived = histogram.quantile(buckets, fraction)
        # A percentile other than the median is omitted if there are so few samples that it is the maximum.
        if fraction > 0.5 and math.ceil(fraction * count) >= count:
            derived = None
        tally.compare("percentile", f"{where} {field}", values.get(field), derived)
    # A command has no latencies.
    posted = [one for case in valid for one in case.posted if not case.scenario.is_command]
    for name, field, extreme in (("latencyMinNanos", "minNanos", min), ("latencyMaxNanos", "maxNanos", max)):
        derived = extreme((one[field] for one in posted), default=None)
        tally.compare("extreme", f"{where} {name}", values.get(name), derived)


def check_iterations(run, key, valid, values, tally):
    """Compares the number of operations in the status with the cases, and the number in the cases with the pilot."""
    where, scenario = f"results {key}", run.plan.scenario(key[0])
    counts = {case.iterations() for case in valid}
    derived = counts.pop() if len(counts) == 1 else None
    tally.compare("iterations", f"{where} iterations", values.get("iterations"), derived)
    pilots = [case for case in run.pilots if case.key[:2] == key[:2]]
    planned = scenario.planned_iterations(key[1], pilots)
    for case in valid if planned is not None else []:
        tally.compare("operations", f"{where} round {case.round} operations", case.iterations(), planned)
