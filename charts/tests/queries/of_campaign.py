"""Expected results of the Campaign dashboard, computed only from a run's status. Performs no I/O.

There is one function for each query. Effects are parts per million in the status and ratios in the metrics; times are
nanoseconds in the status and seconds in the metrics.
"""

import json
import pathlib
import re

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


# The catalogue of quantities.
QUANTITIES = json.loads(
    (pathlib.Path(__file__).resolve().parents[2] / "dashboards/quantities.json").read_text(encoding="utf-8")
)
SCALES = {"ns": 1e-9, "ns/GiB": 1e-9, "millionths": 1e-6, "%": 1e-2}
# Values of a graphics card, of calls that are shorter than a reading of the clock, and of other traffic on an interface, which
# these campaigns may not have.
MAY_BE_ABSENT = {"footprintVramBytes", "callClockNanos", "disturbanceForeignBytes"}


def column(expression):
    """Metric and labels that the query of a column in a table of values selects."""
    match = re.fullmatch(r"max by \(size_bytes, arm\) \((\w+)\{(.*)\}\)", expression)
    return match[1], dict(re.findall(r'(\w+)="([^"]*)"', match[2]))


def quantity_of(expression):
    """The quantity of a column, or None if it has another value."""
    metric, labels = column(expression)
    for entry in QUANTITIES:
        label = entry["label"]
        if entry["metric"] == metric and (not label or labels.get(label["name"]) == label["value"]):
            return entry
    return None


def may_be_absent(panel, expression):
    """Whether the query of a column may return no result."""
    entry = None if panel in CAMPAIGN else quantity_of(expression)
    return entry is not None and entry["quantity"] in MAY_BE_ABSENT


def expected_rows(panel, expression, run, selection):
    """Expected result of a query."""
    if panel in CAMPAIGN:
        return CAMPAIGN[panel](run, selection)
    entry = quantity_of(expression)
    if entry:
        return measured(entry["quantity"], SCALES.get(entry["unit"], 1))(run, selection)
    return {"fabricbench_arm_valid_rounds": valid_rounds, "fabricbench_arm_valid": valid}[column(expression)[0]](run, selection)


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
    ("Call and footprint sections", "A"): sections,
}
