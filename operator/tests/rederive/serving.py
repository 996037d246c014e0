"""Parameter serving: the worker counts, and the staleness in the status."""

import collections

from . import histogram

PPM = 10**6
FABRIC_MODES = ("Push", "Pull")


def expanded(scenario, receivers):
    """One scenario for each worker count per pod, if there are several. `receivers` is the number of receivers of
    the pattern ManyToMany, or None."""
    given = scenario.get("parameterServing")
    field = "workersPerNode" if receivers else "workers"
    workers = (given or {}).get(field) or []
    if len(workers) < 2:
        return [scenario]
    return [
        {**scenario, "name": f"{scenario['name']}-{one * (receivers or 1)}", "parameterServing": {**given, field: [one]}}
        for one in workers
    ]


def workload(given, receivers):
    """Kind, fields and default metric."""
    in_pod = (given.get("workersPerNode") or [1]) if receivers else (given.get("workers") or [4])
    mode = given["mode"]
    fields = {
        "sizes": given.get("sizes") or ["10M"],
        "mode": mode,
        "operation": "Read" if mode == "Pull" else "Write",
        "threads": in_pod[0],
        "receivers": receivers or 1,
        "duration": given.get("maxTime", "60s"),
    }
    return "parameterServing", fields, "LatencyP50"


def derive(scenario, length, valid):
    """The values of the staleness by field; empty if there is no valid case."""
    cases = [case for case in valid if case.sides[1].get("serving")]
    reports = [case.sides[1]["serving"] for case in cases]
    if not reports:
        return {}
    # With several receivers, each has its own worker numbers. Otherwise, all pairs use the same worker numbers.
    by_receiver = [(case.pair[1] if scenario.receivers > 1 else 0, case.sides[1]["serving"]) for case in cases]
    means = worker_means(by_receiver)
    versions = merged((one["versionLag"], one["maxVersionLag"]) for one in reports)
    times = merged(of_durations(one["timeLag"]) for one in reports)
    pulls = merged(of_durations(one["pull"]) for one in reports if one.get("pull"))
    posted = [case.sides[0]["posted"] for case in valid if case.sides[0].get("posted")]
    pushes = merged((one["latency"], one["maxNanos"]) for one in posted)
    # A trainer's first flow reports the versions and push times of all its flows.
    firsts = [case for case in cases if scenario.receivers == 1 or case.pair[1] == min(one.pair[1] for one in cases)]
    published = sum(case.sides[1]["serving"]["published"] for case in firsts)
    workers = [worker for one in reports for worker in one["workers"]]
    steps, lags = (sum(one[field] for one in workers) for field in ("steps", "versionLagSum"))
    without = {key for key, worker in worker_reports(by_receiver) if not worker["steps"]}
    worst = max((one for one in means if one is not None), default=None)
    push = histogram.quantile(pushes, 0.5)
    copies = scenario.threads * scenario.receivers if scenario.mode == "Push" else 1
    datagrams = [one["datagrams"] for one in workers if one.get("datagrams")]
    fields = {
        "workers": len(means),
        "workersWithoutVersion": len(without),
        "versionLagMeanPpm": lags / steps * PPM if steps else None,
        "versionLagP50": histogram.quantile(versions, 0.5),
        "versionLagP99": histogram.tail_quantile(versions, 0.99),
        "versionLagMax": histogram.quantile(versions, 1),
        "worstWorkerLagPpm": None if worst is None else worst * PPM,
        "timeLagP50Nanos": histogram.quantile(times, 0.5),
        "timeLagP99Nanos": histogram.tail_quantile(times, 0.99),
        "timeLagMaxNanos": histogram.quantile(times, 1),
        "published": published,
        "publishedNotDeliveredToAll": None if scenario.mode == "Pull" else published - pushes.total(),
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
    for field, report, value in (
        ("storeLagPpm", "posted", "storeVersions"),
        ("postLagPpm", "posted", "postVersions"),
        ("originalStalenessPpm", "original", "versions"),
    ):
        means = [(one[report]["posts"], one[report][value]) for one in workers if one.get(report)]
        fields[field] = pooled_mean(means)
    return fields


def pooled_mean(means):
    """The mean over all posts, in millionths. `means` contains each worker's number of posts and mean in each case."""
    posts = sum(count for count, _ in means)
    return max(sum(count * mean for count, mean in means) / posts, 0) * PPM if posts else None


def worker_reports(by_receiver):
    """Yields each worker's report in each case, with the receiver and the worker number."""
    for receiver, one in by_receiver:
        for number, worker in enumerate(one["workers"]):
            yield (receiver, number), worker


def worker_means(by_receiver):
    """The mean version lag of each worker over all cases; None for a worker without steps."""
    sums = collections.defaultdict(lambda: [0, 0])
    for key, worker in worker_reports(by_receiver):
        sums[key][0] += worker["versionLagSum"]
        sums[key][1] += worker["steps"]
    return [lag / steps if steps else None for lag, steps in sums.values()]


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

