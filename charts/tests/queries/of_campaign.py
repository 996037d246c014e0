"""Expected results of the Campaign dashboard, computed only from a run's status. Performs no I/O.

There is one function for each query. Effects are parts per million in the status and ratios in the metrics; times are
nanoseconds in the status and seconds in the metrics.
"""

from status import row, rows, size

QUANTILES = {
    "0": "minNanos",
    "0.5": "p50Nanos",
    "0.95": "p95Nanos",
    "0.99": "p99Nanos",
    "0.999": "p999Nanos",
    "1": "maxNanos",
}
EXPECTATIONS = ("Met", "NotMet", "Inconclusive")


def state(run, _):
    return row(1, state=run.status["state"])


def outcome(run, _):
    return row(1, outcome=run.status["outcome"])


def fabric(run, _):
    return row(1, proof=run.status["fabric"]["proof"]) if "fabric" in run.status else {}


def regressions(run, _):
    return row(len(run.regressions()))


def expectations(run, _):
    outcomes = [one["outcome"] for one in run.status.get("expectations", [])]
    if not outcomes:
        return {}
    return rows(row(outcomes.count(one), outcome=one) for one in EXPECTATIONS)


def progress(run, _):
    done = run.status["progress"]
    return row(done["blocksDone"] / done["blocksTotal"])


def conditions(run, _):
    return rows(
        row(float(one["status"] == "True"), condition=one["type"], reason=one["reason"])
        for one in run.status["conditions"]
    )


def environment(run, _):
    kinds = {"kernel": "kernels", "cpu_model": "cpuModels", "library": "libraries", "polling": "polling"}
    found = [
        row(1, kind=kind, value=value) for kind, field in kinds.items() for value in run.status["environment"][field]
    ]
    found += [row(1, kind="node", value=node) for node in run.status["placement"]["nodes"]]
    found += [row(1, kind="provider", value=run.status["fabric"]["provider"])]
    found += [row(1, kind="baseline", value=run.baseline)]
    return rows(found)


def verdicts(run, selection):
    return rows(
        row(1, size_bytes=size(one), arm=one["arm"], verdict="Control" if one["negativeControl"] else verdict(one))
        for one in run.comparisons(selection, primary=True)
    )


def verdict(comparison):
    """The verdict, or the reason for withholding it."""
    return comparison.get("verdict") or comparison.get("withheld", "None")


def effects(run, selection):
    return rows(
        row(one["effectPpm"] / 1e6, size_bytes=size(one), arm=one["arm"])
        for one in run.shown(run.comparisons(selection, primary=True))
        if "effectPpm" in one
    )


def interval(field):
    def of_arm(run, selection):
        arm = selection["arm"]
        return rows(
            row(one[field] / 1e6, size_bytes=size(one))
            for one in run.shown(run.comparisons(selection, primary=True))
            if field in one and one["arm"] == arm
        )

    return of_arm


def compared(field):
    def of_all(run, selection):
        return rows(
            row(
                one[field] / 1e6,
                size_bytes=size(one),
                arm=one["arm"],
                metric=one["metric"],
                primary=str(one["primary"]).lower(),
                negative_control=str(one["negativeControl"]).lower(),
            )
            for one in run.shown(run.comparisons(selection))
            if field in one
        )

    return of_all


def compared_verdicts(run, selection):
    return rows(
        row(1, size_bytes=size(one), arm=one["arm"], metric=one["metric"], verdict=verdict(one))
        for one in run.comparisons(selection, primary=True)
    )


def measured(field, scale=1.0):
    def of_arm(run, selection):
        return rows(
            row(one[field] * scale, size_bytes=size(one), arm=one["arm"])
            for one in run.results(selection)
            if field in one
        )

    return of_arm


def observed(group, field, scale=1.0):
    """A field in a group of values that only some workloads have."""

    def of_arm(run, selection):
        return rows(
            row(one[group][field] * scale, size_bytes=size(one), arm=one["arm"])
            for one in run.results(selection)
            if field in one.get(group, {})
        )

    return of_arm


def latency(run, selection):
    return measured(QUANTILES[selection["quantile"]], 1e-9)(run, selection)


def valid(run, selection):
    return rows(
        row(float(one["validity"] == "Valid"), size_bytes=size(one), arm=one["arm"]) for one in run.results(selection)
    )


def engagement(run, selection):
    return rows(
        row(
            1,
            size_bytes=size(one),
            arm=one["arm"],
            optimization=optimization["optimization"],
            engagement=optimization["engagement"],
            requested=f"{one['arm']}: {optimization['optimization']}",
        )
        for one in run.results(selection)
        for optimization in one.get("optimizations", [])
    )


def sections(run, selection):
    """The section of each arm's calls or footprint, followed by the cause if the arm failed or was skipped."""
    found = [(one, one.get("call") or one.get("footprint")) for one in run.results(selection)]
    return rows(
        row(1, size_bytes=size(one), arm=one["arm"], result=": ".join(filter(None, (of["section"], of.get("cause")))))
        for one, of in found
        if of
    )


# Columns of the panels that show values that only some workloads have, in order.
OF_WORKLOADS = {
    "Calls and memory": (
        observed("call", "meanNanos", 1e-9),
        observed("call", "deviationNanos", 1e-9),
        observed("call", "hopNanos", 1e-9),
        observed("call", "memoryGrowthBytes"),
        observed("footprint", "baselineBytes"),
        observed("footprint", "ownBytes"),
        observed("footprint", "consumerBytes"),
        observed("footprint", "consumerRssBytes"),
        observed("footprint", "tensorBytes"),
        observed("footprint", "savedBytes"),
        observed("footprint", "slopeBytes"),
    ),
    "Parameter serving": (
        observed("serving", "versionLagMeanPpm", 1e-6),
        observed("serving", "worstWorkerLagPpm", 1e-6),
        observed("serving", "workersWithoutVersion"),
        observed("serving", "timeLagP50Nanos", 1e-9),
        observed("serving", "timeLagP99Nanos", 1e-9),
        observed("serving", "timeLagMaxNanos", 1e-9),
        observed("serving", "storeLagPpm", 1e-6),
        observed("serving", "postLagPpm", 1e-6),
        observed("serving", "originalStalenessPpm", 1e-6),
        observed("serving", "pushP50Nanos", 1e-9),
        observed("serving", "pushMaxNanos", 1e-9),
        observed("serving", "pushBytesPerSecond"),
        observed("serving", "published"),
        observed("serving", "publishedNotDeliveredToAll"),
        observed("serving", "pullP50Nanos", 1e-9),
        observed("serving", "coldSteps"),
        observed("serving", "coldNanos", 1e-9),
        observed("serving", "torn"),
        observed("serving", "datagramsSent"),
        observed("serving", "datagramsLost"),
        observed("serving", "clockBoundNanos", 1e-9),
    ),
    "Flows and directions": (
        observed("flows", "slowestBytesPerSecond"),
        observed("flows", "medianBytesPerSecond"),
        observed("flows", "fastestBytesPerSecond"),
        observed("flows", "slowestReceiverBytesPerSecond"),
        observed("flows", "fastestReceiverBytesPerSecond"),
        observed("flows", "fairnessPpm", 1e-6),
        observed("directions", "initiatorBytesPerSecond"),
        observed("directions", "targetBytesPerSecond"),
    ),
    "Other workload values": (
        observed("flush", "p50Nanos", 1e-9),
        observed("flush", "maxNanos", 1e-9),
        observed("ping", "idleP99Nanos", 1e-9),
        observed("ping", "loadedP99Nanos", 1e-9),
        observed("readBack", "p50Nanos", 1e-9),
        observed("readBack", "p99Nanos", 1e-9),
        measured("firstBatchNanos", 1e-9),
        measured("reportedLatencyNanos", 1e-9),
        measured("reportedBytesPerSecond"),
    ),
}


CAMPAIGN = {
    ("State", "A"): state,
    ("Outcome", "A"): outcome,
    ("Fabric", "A"): fabric,
    ("Regressions", "A"): regressions,
    ("Expectations", "A"): expectations,
    ("Progress", "A"): progress,
    ("Created", "A"): lambda run, _: row(run.created * 1000),
    ("Finished", "A"): lambda run, _: row(run.finished * 1000),
    ("Duration", "A"): lambda run, _: row(run.finished - run.created),
    ("Series not exported", "A"): lambda run, _: row(0),
    ("Conditions", "A"): conditions,
    ("Environment", "A"): environment,
    ("Verdicts", "A"): verdicts,
    ("Change relative to the baseline", "A"): effects,
    ("$arm: change with confidence interval", "A"): interval("effectPpm"),
    ("$arm: change with confidence interval", "B"): interval("lowerPpm"),
    ("$arm: change with confidence interval", "C"): interval("upperPpm"),
    ("Latency", "A"): latency,
    ("Throughput", "A"): measured("bytesPerSecond"),
    ("CPU time per GiB", "A"): measured("cpuNanosPerGib", 1e-9),
    ("Comparisons", "A"): compared("effectPpm"),
    ("Comparisons", "B"): compared("lowerPpm"),
    ("Comparisons", "C"): compared("upperPpm"),
    ("Comparisons", "D"): compared_verdicts,
    ("Did the optimizations take effect?", "A"): engagement,
    ("Values", "A"): measured("minNanos", 1e-9),
    ("Values", "B"): measured("p50Nanos", 1e-9),
    ("Values", "C"): measured("p95Nanos", 1e-9),
    ("Values", "D"): measured("p99Nanos", 1e-9),
    ("Values", "E"): measured("p999Nanos", 1e-9),
    ("Values", "F"): measured("maxNanos", 1e-9),
    ("Values", "G"): measured("bytesPerSecond"),
    ("Values", "H"): measured("completionsPerSecond"),
    ("Values", "I"): measured("cpuNanosPerGib", 1e-9),
    ("Values", "J"): measured("validRounds"),
    ("Values", "K"): valid,
    ("Call and footprint sections", "A"): sections,
}
CAMPAIGN |= {
    (panel, chr(ord("A") + index)): column for panel, columns in OF_WORKLOADS.items() for index, column in enumerate(columns)
}
