"""Expected results of the Campaign dashboard, computed only from a run's status. Performs no I/O.

There is one function for each query. Effects are parts per million in the status and ratios in the metrics; times are
nanoseconds in the status and seconds in the metrics.
"""

from status import row, rows, size

QUANTILES = {
    "0": "latencyMinNanos",
    "0.5": "latencyP50Nanos",
    "0.95": "latencyP95Nanos",
    "0.99": "latencyP99Nanos",
    "0.999": "latencyP999Nanos",
    "1": "latencyMaxNanos",
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


def measured(name, scale=1.0):
    """The values of a quantity, which not every workload has."""

    def of_arm(run, selection):
        return rows(
            row(one["values"][name] * scale, size_bytes=size(one), arm=one["arm"])
            for one in run.results(selection)
            if name in one.get("values", {})
        )

    return of_arm


def valid_rounds(run, selection):
    return rows(row(one["validRounds"], size_bytes=size(one), arm=one["arm"]) for one in run.results(selection))


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
        measured("callMeanNanos", 1e-9),
        measured("callDeviationNanos", 1e-9),
        measured("callHopNanos", 1e-9),
        measured("callMemoryGrowthBytes"),
        measured("footprintBaselineBytes"),
        measured("footprintOwnBytes"),
        measured("footprintConsumerBytes"),
        measured("footprintConsumerRssBytes"),
        measured("footprintTensorBytes"),
        measured("footprintSavedBytes"),
        measured("footprintSlopeBytes"),
    ),
    "Parameter serving": (
        measured("servingVersionLagMeanPpm", 1e-6),
        measured("servingWorstWorkerLagPpm", 1e-6),
        measured("servingWorkersWithoutVersion"),
        measured("servingTimeLagP50Nanos", 1e-9),
        measured("servingTimeLagP99Nanos", 1e-9),
        measured("servingTimeLagMaxNanos", 1e-9),
        measured("servingStoreLagPpm", 1e-6),
        measured("servingPostLagPpm", 1e-6),
        measured("servingOriginalStalenessPpm", 1e-6),
        measured("servingPushP50Nanos", 1e-9),
        measured("servingPushMaxNanos", 1e-9),
        measured("servingPushBytesPerSecond"),
        measured("servingPublished"),
        measured("servingPublishedNotDeliveredToAll"),
        measured("servingPullP50Nanos", 1e-9),
        measured("servingColdSteps"),
        measured("servingColdNanos", 1e-9),
        measured("servingTorn"),
        measured("servingDatagramsSent"),
        measured("servingDatagramsLost"),
        measured("servingClockBoundNanos", 1e-9),
    ),
    "Flows and directions": (
        measured("flowsSlowestBytesPerSecond"),
        measured("flowsMedianBytesPerSecond"),
        measured("flowsFastestBytesPerSecond"),
        measured("flowsSlowestReceiverBytesPerSecond"),
        measured("flowsFastestReceiverBytesPerSecond"),
        measured("flowsFairnessPpm", 1e-6),
        measured("directionsInitiatorBytesPerSecond"),
        measured("directionsTargetBytesPerSecond"),
    ),
    "Other workload values": (
        measured("flushP50Nanos", 1e-9),
        measured("flushMaxNanos", 1e-9),
        measured("pingIdleP99Nanos", 1e-9),
        measured("pingLoadedP99Nanos", 1e-9),
        measured("readBackP50Nanos", 1e-9),
        measured("readBackP99Nanos", 1e-9),
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
    ("Values", "A"): measured("latencyMinNanos", 1e-9),
    ("Values", "B"): measured("latencyP50Nanos", 1e-9),
    ("Values", "C"): measured("latencyP95Nanos", 1e-9),
    ("Values", "D"): measured("latencyP99Nanos", 1e-9),
    ("Values", "E"): measured("latencyP999Nanos", 1e-9),
    ("Values", "F"): measured("latencyMaxNanos", 1e-9),
    ("Values", "G"): measured("bytesPerSecond"),
    ("Values", "H"): measured("completionsPerSecond"),
    ("Values", "I"): measured("cpuNanosPerGib", 1e-9),
    ("Values", "J"): valid_rounds,
    ("Values", "K"): valid,
    ("Call and footprint sections", "A"): sections,
}
CAMPAIGN |= {
    (panel, chr(ord("A") + index)): column for panel, columns in OF_WORKLOADS.items() for index, column in enumerate(columns)
}
