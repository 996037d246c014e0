"""Checks the mean round trip, the directions, the flushes, the pings, the reads, the first batch and the staleness of
one arm."""

import collections
import math

from . import histogram, serving
from .cases import measured_window
from .tally import ROUNDING

PPM = 10**6


def check(run, key, valid, values, tally):
    """Compares the observations in the status with the valid cases."""
    where, scenario = f"results {key}", run.plan.scenario(key[0])
    trip = run.median(key, mean_round_trip) if scenario.kind == "pingPong" else None
    compare(tally, "median", f"{where} meanRoundTripNanos", values, "meanRoundTripNanos", trip)
    directions = values.group("directions")
    sides = {
        "initiatorBytesPerSecond": lambda case: rate(case, 0),
        "targetBytesPerSecond": lambda case: rate(case, 1),
    }
    rates = {field: run.median(key, value) if scenario.both_post else None for field, value in sides.items()}
    slower, faster = sorted(rates.values()) if None not in rates.values() else (None, None)
    derived = {**rates, "balancePpm": None if slower is None else slower / faster * PPM}
    for field, value in derived.items():
        compare(tally, "direction", f"{where} {directions.name(field)}", directions, field, value)
    check_flushes(where, valid, values, tally)
    check_pings(where, valid, values, tally)
    check_reads(where, valid, values, tally)
    first = run.median(key, lambda case: (case.sides[0].get("posted") or {}).get("firstBurstNanos"))
    compare(tally, "first batch", f"{where} firstBatchNanos", values, "firstBatchNanos", first)
    check_serving(where, scenario, key[1], valid, values.group("serving"), tally)


def check_serving(where, scenario, length, valid, stored, tally):
    derived = serving.derive(scenario, length, valid) if scenario.kind == "parameterServing" else {}
    for field in derived:
        compare(tally, "staleness", f"{where} {stored.name(field)}", stored, field, derived[field])


def check_flushes(where, valid, values, tally):
    flushes = merged(one.get("flush") for one in initiators(valid))
    for name, fraction in (("flushP50Nanos", 0.5), ("flushMaxNanos", 1)):
        tally.compare("flush", f"{where} {name}", values.get(name), histogram.quantile(flushes, fraction))


def check_pings(where, valid, values, tally):
    pings = [one.get("ping") or {} for one in initiators(valid)]
    idle, loaded = (histogram.tail_quantile(merged(one.get(state) for one in pings), 0.99) for state in ("idle", "loaded"))
    tally.compare("ping", f"{where} pingIdleP99Nanos", values.get("pingIdleP99Nanos"), idle)
    tally.compare("ping", f"{where} pingLoadedP99Nanos", values.get("pingLoadedP99Nanos"), loaded)
    ratio = loaded / idle * PPM if idle and loaded is not None else None
    compare(tally, "ping", f"{where} pingBlockingPpm", values, "pingBlockingPpm", ratio)


def check_reads(where, valid, values, tally):
    reads = merged(one.get("readBack") for one in initiators(valid))
    median = histogram.quantile(reads, 0.5)
    tally.compare("reads", f"{where} readBackP50Nanos", values.get("readBackP50Nanos"), median)
    tally.compare("reads", f"{where} readBackP99Nanos", values.get("readBackP99Nanos"), histogram.tail_quantile(reads, 0.99))


def initiators(valid):
    """The initiator's posts in each case."""
    return [case.sides[0]["posted"] for case in valid if case.sides[0].get("posted")]


def merged(durations):
    """The merged samples of several distributions. Some of them may be absent."""
    buckets = collections.Counter()
    for one in durations:
        if one:
            buckets.update(histogram.decode(one["histogram"], one["maxNanos"]))
    return buckets


def mean_round_trip(case):
    posted = case.sides[0]["posted"]
    return posted["elapsedNanos"] / posted["operations"]


def rate(case, side):
    window = measured_window(case.sides[side]["posted"])
    return window["payloadBytes"] / (window["elapsedNanos"] / 1e9)


def compare(tally, kind, where, stored, field, derived):
    """Compares an integer in the status with a derived number."""
    derived = None if derived is None else math.floor(derived + 0.5)
    tally.compare(kind, where, stored.get(field), derived, ROUNDING)
