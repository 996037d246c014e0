"""Finished runs with their status, and rows in the form in which Prometheus returns them: {labels: value}. Performs no
I/O."""

import datetime
import math
import re
import typing


def row(number, /, **labels):
    return {frozenset(labels.items()): number}


def rows(found):
    merged = {}
    for one in found:
        merged.update(one)
    return merged


def differences(found, want):
    """Yields missing, extra and differing rows in `found`. Numbers are compared with a relative tolerance of 1e-9."""
    for labels in found.keys() | want.keys():
        name = ", ".join(f"{label}={value}" for label, value in sorted(labels))
        if labels not in found:
            yield f"{name}: no result; expected {want[labels]} according to the status"
        elif labels not in want:
            yield f"{name}: {found[labels]}; the status contains no such value"
        elif not math.isclose(found[labels], want[labels], rel_tol=1e-9, abs_tol=1e-12):
            yield f"{name}: {found[labels]}; expected {want[labels]} according to the status"


def size(result):
    return str(result["sizeBytes"])


def cell(comparison):
    return comparison["scenario"], comparison["sizeBytes"], comparison["arm"]


def seconds(time):
    """Unix time in whole seconds, the same as in the metrics."""
    return math.floor(datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", time)).timestamp())


class Alert(typing.NamedTuple):
    """Labels that identify an alert."""

    name: str
    run: str = ""
    scenario: str = ""
    size: str = ""
    arm: str = ""

    @classmethod
    def of(cls, labels):
        return cls(labels["alertname"], *(labels.get(name, "") for name in ("run", "scenario", "size_bytes", "arm")))


class Run:
    """Finished run, constructed from an object that includes its status."""

    def __init__(self, run):
        self.name = run["metadata"]["name"]
        self.namespace = run["metadata"]["namespace"]
        self.created = seconds(run["metadata"]["creationTimestamp"])
        self.baseline = run["spec"]["baseline"]
        self.status = run["status"]
        self.finished = min(
            seconds(one["lastTransitionTime"])
            for one in self.status["conditions"]
            if one["type"] in ("Complete", "Failed") and one["status"] == "True"
        )

    def is_selected(self, selection):
        return (selection["namespace"], selection["run"]) == (self.namespace, self.name)

    def results(self, selection):
        return [result for result in self.status["results"] if result["scenario"] == selection["scenario"]]

    def comparisons(self, selection, primary=None):
        return [
            comparison
            for comparison in self.status["comparisons"]
            if comparison["scenario"] == selection["scenario"] and (primary is None or comparison["primary"] == primary)
        ]

    def regressions(self):
        found = [one for one in self.status["comparisons"] if one["primary"] and one.get("verdict") == "Regressed"]
        return [one for one in found if not one["negativeControl"]]

    def withheld(self):
        """Scenario, size and arm of each comparison with a withheld verdict, excluding controls."""
        claims = [one for one in self.status["comparisons"] if one["primary"] and not one["negativeControl"]]
        return {cell(one) for one in claims if "verdict" not in one}

    def shown(self, comparisons):
        """Returns those `comparisons` whose effects dashboards may show."""
        withheld = self.withheld()
        return [one for one in comparisons if one["negativeControl"] or cell(one) not in withheld]

    def is_trusted(self):
        """Whether the run is complete and every value can be trusted."""
        return self.status["outcome"] in ("Passed", "Missed")

    def alerts(self):
        """Yields the alerts that must fire."""
        if self.status["state"] == "Failed":
            yield Alert("FabricbenchRunFailed", self.name)
        elif self.status["outcome"] in ("Suspect", "Untrusted"):
            yield Alert(f"FabricbenchRun{self.status['outcome']}", self.name)
        elif any(one["outcome"] == "NotMet" for one in self.status.get("expectations", [])):
            yield Alert("FabricbenchExpectationMissed", self.name)
        for one in self.regressions():
            yield Alert("FabricbenchRegression", self.name, one["scenario"], size(one), one["arm"])
        if self.status.get("fabric", {}).get("proof") == "Contradicted":
            yield Alert("FabricbenchFabricContradicted", self.name)
