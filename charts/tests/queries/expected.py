"""What the Campaign dashboard must show of a finished run, worked out from the status alone. Pure.

One function for each query, called as the panel; it gives {labels: value}. Effects are parts per million in the status
and ratios in the metrics, times nanoseconds there and seconds here.
"""

import datetime
import math
import re

QUANTILES = {
    "0": "minNanos",
    "0.5": "p50Nanos",
    "0.95": "p95Nanos",
    "0.99": "p99Nanos",
    "0.999": "p999Nanos",
    "1": "maxNanos",
}
OUTCOMES = {0: "Passed", 1: "Missed", 3: "Untrusted"}
EXPECTATIONS = ("Met", "NotMet", "Inconclusive")


def row(number, /, **labels):
    return {frozenset(labels.items()): number}


def rows(found):
    merged = {}
    for one in found:
        merged.update(one)
    return merged


def differences(found, want):
    """What `found` lacks, has too much, or has otherwise; numbers are equal to one part in a billion."""
    for labels in found.keys() | want.keys():
        name = ", ".join(f"{label}={value}" for label, value in sorted(labels))
        if labels not in found:
            yield f"{name}: nothing, and the status says {want[labels]}"
        elif labels not in want:
            yield f"{name}: {found[labels]}, of which the status says nothing"
        elif not math.isclose(found[labels], want[labels], rel_tol=1e-9, abs_tol=1e-12):
            yield f"{name}: {found[labels]}, and the status says {want[labels]}"


class Run:
    """A finished run: the object with its status, and the exit status of `fabricbench report` on it."""

    def __init__(self, run, exit_status):
        self.name = run["metadata"]["name"]
        self.namespace = run["metadata"]["namespace"]
        self.created = seconds(run["metadata"]["creationTimestamp"])
        self.baseline = run["spec"]["baseline"]
        self.status = run["status"]
        self.exit_status = exit_status
        self.finished = min(
            seconds(one["lastTransitionTime"])
            for one in self.status["conditions"]
            if one["type"] in ("Complete", "Failed") and one["status"] == "True"
        )

    def is_selected(self, selection):
        return (selection["namespace"], selection["run"]) == (self.namespace, self.name)

    def results(self, selection):
        return [result for result in self.status["results"] if chosen(result, selection)]

    def comparisons(self, selection, primary=None):
        return [
            comparison
            for comparison in self.status["comparisons"]
            if chosen(comparison, selection) and (primary is None or comparison["primary"] == primary)
        ]

    def regressions(self):
        found = [one for one in self.status["comparisons"] if one["primary"] and one.get("verdict") == "Regressed"]
        return [one for one in found if not one["negativeControl"]]

    def alerts(self):
        """(name, run, scenario, arm) of each alert that must fire."""
        if self.status["state"] == "Failed":
            yield ("FabricbenchRunFailed", self.name, "", "")
        elif OUTCOMES[self.exit_status] == "Untrusted":
            yield ("FabricbenchRunUntrusted", self.name, "", "")
        elif OUTCOMES[self.exit_status] == "Missed":
            for one in self.regressions():
                yield ("FabricbenchRegression", self.name, one["scenario"], one["arm"])
            if any(one["outcome"] == "NotMet" for one in self.status.get("expectations", [])):
                yield ("FabricbenchExpectationMissed", self.name, "", "")
        if self.status.get("fabric", {}).get("proof") == "Contradicted":
            yield ("FabricbenchFabricContradicted", self.name, "", "")


def seconds(time):
    """Whole seconds since 1970, as the metrics have them."""
    return math.floor(datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", time)).timestamp())


def chosen(result, selection):
    return result["scenario"] == selection["scenario"]


def state(run, _):
    return row(1, state=run.status["state"])


def outcome(run, _):
    return row(1, outcome=OUTCOMES[run.exit_status])


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


def size(result):
    return str(result["sizeBytes"])


def verdicts(run, selection):
    return rows(
        row(1, size_bytes=size(one), arm=one["arm"], verdict="Control" if one["negativeControl"] else verdict(one))
        for one in run.comparisons(selection, primary=True)
    )


def verdict(comparison):
    return comparison.get("verdict", "None")


def effects(run, selection):
    return rows(
        row(one["effectPpm"] / 1e6, size_bytes=size(one), arm=one["arm"])
        for one in run.comparisons(selection, primary=True)
        if "effectPpm" in one
    )


def interval(field):
    def of_arm(run, selection):
        arm = selection["arm"]
        return rows(
            row(one[field] / 1e6, size_bytes=size(one))
            for one in run.comparisons(selection, primary=True)
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
            for one in run.comparisons(selection)
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
            optimization=asked["optimization"],
            engagement=asked["engagement"],
            asked=f"{one['arm']}: {asked['optimization']}",
        )
        for one in run.results(selection)
        for asked in one.get("optimizations", [])
    )


CAMPAIGN = {
    ("State", "A"): state,
    ("Outcome", "A"): outcome,
    ("Fabric", "A"): fabric,
    ("Regressions", "A"): regressions,
    ("Expectations", "A"): expectations,
    ("Progress", "A"): progress,
    ("Created", "A"): lambda run, _: row(run.created * 1000),
    ("Finished", "A"): lambda run, _: row(run.finished * 1000),
    ("Took", "A"): lambda run, _: row(run.finished - run.created),
    ("Series not exported", "A"): lambda run, _: row(0),
    ("Conditions", "A"): conditions,
    ("Environment", "A"): environment,
    ("Verdicts", "A"): verdicts,
    ("Change against the baseline", "A"): effects,
    ("$arm: change with its interval", "A"): interval("effectPpm"),
    ("$arm: change with its interval", "B"): interval("lowerPpm"),
    ("$arm: change with its interval", "C"): interval("upperPpm"),
    ("Latency", "A"): latency,
    ("Throughput", "A"): measured("bytesPerSecond"),
    ("CPU time for a GiB", "A"): measured("cpuNanosPerGib", 1e-9),
    ("Comparisons", "A"): compared("effectPpm"),
    ("Comparisons", "B"): compared("lowerPpm"),
    ("Comparisons", "C"): compared("upperPpm"),
    ("Comparisons", "D"): compared_verdicts,
    ("Did the optimizations engage?", "A"): engagement,
    ("Numbers", "A"): measured("minNanos", 1e-9),
    ("Numbers", "B"): measured("p50Nanos", 1e-9),
    ("Numbers", "C"): measured("p95Nanos", 1e-9),
    ("Numbers", "D"): measured("p99Nanos", 1e-9),
    ("Numbers", "E"): measured("p999Nanos", 1e-9),
    ("Numbers", "F"): measured("maxNanos", 1e-9),
    ("Numbers", "G"): measured("bytesPerSecond"),
    ("Numbers", "H"): measured("completionsPerSecond"),
    ("Numbers", "I"): measured("cpuNanosPerGib", 1e-9),
    ("Numbers", "J"): measured("validRounds"),
    ("Numbers", "K"): valid,
}
