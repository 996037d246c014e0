"""Parameter serving: numbers of workers, and the staleness in the status."""

import collections

from . import histogram

PPM = 10**6
FABRIC_MODES = ("Push", "Pull")


def lowered(scenario):
    """The scenarios for each number of workers, if there are several."""
    given = scenario.get("parameterServing")
    workers = (given or {}).get("workers") or []
    if len(workers) < 2:
        return [scenario]
    return [
        {**scenario, "name": f"{scenario['name']}-{one}", "parameterServing": {**given, "workers": [one]}}
        for one in workers
    ]


def workload(given):
    """Kind, fields and default metric."""
    mode = given["mode"]
    fields = {
        "sizes": given.get("sizes") or ["10M"],
        "mode": mode,
        "operation": "Read" if mode == "Pull" else "Write",
        "threads": (given.get("workers") or [4])[0],
        "duration": given.get("maxTime", "60s"),
    }
    return "parameterServing", fields, "LatencyP50"


def derive(scenario, length, valid):
    """The fields of `serving` in the status; empty without a valid case."""
    reports = [case.sides[1]["serving"] for case in valid if case.sides[1].get("serving")]
    if not reports:
        return {}
    versions = merged((one["versionLag"], one["maxVersionLag"]) for one in reports)
    times = merged(of_durations(one["timeLag"]) for one in reports)
    pulls = merged(of_durations(one["pull"]) for one in reports if one.get("pull"))
    posted = [case.sides[0]["posted"] for case in valid if case.sides[0].get("posted")]
    pushes = merged((one["latency"], one["maxNanos"]) for one in posted)
    workers = [worker for one in reports for worker in one["workers"]]
    steps, lags = (sum(one[field] for one in workers) for field in ("steps", "versionLagSum"))
    push = histogram.quantile(pushes, 0.5)
    copies = scenario.threads if scenario.mode == "Push" else 1
    datagrams = [one["datagrams"] for one in workers if one.get("datagrams")]
    fields = {
        "workers": max(len(one["workers"]) for one in reports),
        "versionLagMeanPpm": lags / steps * PPM if steps else 0,
        "versionLagP50": histogram.quantile(versions, 0.5) or 0,
        "versionLagP99": histogram.tail(versions, 0.99),
        "versionLagMax": histogram.quantile(versions, 1) or 0,
        "worstWorkerLagPpm": max(worker_means(reports), default=0) * PPM,
        "timeLagP50Nanos": histogram.quantile(times, 0.5) or 0,
        "timeLagP99Nanos": histogram.tail(times, 0.99),
        "timeLagMaxNanos": histogram.quantile(times, 1) or 0,
        "pushP50Nanos": push,
        "pushMaxNanos": histogram.quantile(pushes, 1),
        "pushBytesPerSecond": copies * length * 1e9 / push if push else None,
        "pullP50Nanos": histogram.quantile(pulls, 0.5),
        "coldSteps": sum(one["coldSteps"] for one in workers),
        "coldNanos": max((one["coldNanos"] for one in workers), default=0),
        "torn": sum(one["torn"] for one in workers),
        "datagramsSent": sum(one["sent"] for one in datagrams) if datagrams else None,
        "datagramsLost": sum(one["sent"] - one["received"] for one in datagrams) if datagrams else None,
        "clockBoundNanos": max(one["clockBoundNanos"] for one in reports),
    }
    posts = [one["posted"] for one in workers if one.get("posted")]
    for field, source in (("storeLagPpm", "store"), ("postLagPpm", "post"), ("originalStalenessPpm", "original")):
        values = [one[f"{source}Versions"] for one in posts]
        fields[field] = max(sum(values) / len(values), 0) * PPM if values else None
    return fields


def worker_means(reports):
    """The mean version lag of each worker over all cases."""
    sums = collections.defaultdict(lambda: [0, 0])
    for one in reports:
        for number, worker in enumerate(one["workers"]):
            sums[number][0] += worker["versionLagSum"]
            sums[number][1] += worker["steps"]
    return [lag / steps for lag, steps in sums.values() if steps]


def of_durations(durations):
    return durations["histogram"], durations["maxNanos"]


def merged(encoded):
    buckets = collections.Counter()
    for text, maximum in encoded:
        buckets.update(histogram.decode(text, maximum))
    return buckets


def is_on_fabric(scenario):
    """Whether the parameters are sent over the fabric."""
    return scenario.mode in FABRIC_MODES

