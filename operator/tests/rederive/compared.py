"""Checks comparisons of two runs. Usage: python3 -m rederive.compared FIRST SECOND FILE...

A FILE is the output of `fabricbench compare --format json FIRST SECOND`. Prints a line for each file. Lists the
differences and exits with 1 if a value differs from the one derived here.
"""

import json
import math
import statistics
import sys
from pathlib import Path

from . import comparisons, inference, two_samples, withholding
from .run import of_stored
from .stream import read
from .tally import Tally


class Comparison:
    """The change in an arm at one size from the first run to the second."""

    def __init__(self, runs, key, level):
        plan = runs[0].plan
        self.metric = plan.scenario(key[0]).primary
        self.is_baseline = key == plan.baseline_of(key)
        self.values = [values(run, key, self.metric) for run in runs]
        first, second = (LogValues(run, key, self.metric) for run in runs)
        self.rounds = [len(first.printed), len(second.printed)]
        self.interval = printed = two_samples.interval(first.printed, second.printed, level)
        self.withheld = self.is_baseline or any(is_withheld(run, key) for run in runs)
        self.decided, self.is_open = None, False
        if printed:
            lower = two_samples.interval(first.upper, second.lower, level)
            upper = two_samples.interval(first.lower, second.upper, level)
            self.interval = printed[0], lower[1], upper[2]
            self.decided = self.decide(self.interval[1:], plan)
            # What would remain without noise.
            is_wide = (upper[0] - lower[0]) / 2 > math.log1p(plan.margin / 100)
            is_hidden = is_wide or self.decide(printed[1:], plan) != "Inconclusive"
            self.is_open = self.decide((lower[0], upper[0]), plan) == "Inconclusive" and is_hidden
        # Set for an arm if the baseline at the same size changed.
        self.baseline_changed = False

    def decide(self, bounds, plan):
        return inference.verdict(bounds, plan.margin, self.metric in inference.HIGHER_IS_BETTER)

    @property
    def verdict(self):
        return None if self.withheld or self.baseline_changed else self.decided

    def check(self, stored, where, tally):
        """Compares every field except the reason text."""
        tally.compare("compare-metric", f"{where} metric", stored["metric"], self.metric)
        tally.compare("compare-rounds", f"{where} rounds", stored["rounds"], self.rounds)
        for field, of_run in zip(("first", "second"), self.values, strict=True):
            median = statistics.median(of_run.values()) if of_run else None
            tally.compare("compare-median", f"{where} {field}", stored[field], median, (median or 0) * 1e-9)
        bounds = stored["intervalPercent"] or (None, None)
        percents = [inference.percent(one) for one in self.interval or ()] or [None] * 3
        for name, found, derived in zip(
            ("change", "lower", "upper"), (stored["changePercent"], *bounds), percents, strict=True
        ):
            tally.compare("compare-change", f"{where} {name}", found, derived, 1e-6 * (1 + abs(derived or 0)))
        tally.compare("compare-verdict", f"{where} verdict", stored["verdict"], self.verdict)
        cause = "Resolution" if self.verdict == "Inconclusive" and self.is_open else None
        tally.compare("compare-verdict", f"{where} inconclusive", stored.get("inconclusive"), cause)
        tally.compare(
            "compare-verdict", f"{where} baseline changed", stored["baselineChanged"], self.baseline_changed
        )
        tally.compare("compare-verdict", f"{where} has a reason", stored["reason"] is not None, self.verdict is None)


def values(run, key, metric, of_bounds=0):
    """The median over the pairs in each round: of the printed values, of their lower bounds (1) or of their upper bounds
    (2). Empty if a value is below the resolution of its tool."""
    if run.is_below_resolution(key, metric):
        return {}

    def value(case):
        bounds = case.bounds(metric)
        return bounds and bounds[of_bounds]

    return run.by_round(key, value)


class LogValues:
    """The logarithm of the ratio to the baseline in each round that has values for both, with its bounds; for the baseline
    itself, the logarithm of its value in each round."""

    def __init__(self, run, key, metric):
        baseline = run.plan.baseline_of(key)

        def logarithms(of_own, of_baseline):
            own = values(run, key, metric, of_own)
            if key == baseline:
                return [math.log(value) for value in own.values()]
            others = values(run, baseline, metric, of_baseline)
            return [math.log(one) - math.log(others[number]) for number, one in own.items() if number in others]

        self.printed, self.lower, self.upper = logarithms(0, 0), logarithms(1, 2), logarithms(2, 1)


def is_withheld(run, key):
    """Whether the results of an arm, or those of the baseline with which it is compared, are not usable within their
    own run."""
    effects = run.effects(key, run.plan.scenario(key[0]).primary, run.stopping.last_round(key))
    reason = withholding.reason(run, key, effects.rounds, comparisons.suspect(run))
    is_same = key != run.plan.baseline_of(key) and run.plan.role_of(key) != "variant"
    return is_same or reason in (*comparisons.UNTRUSTED, *comparisons.SUSPECT, "NotEngaged")


def shared(runs):
    """Keys of the variants that both runs have, by scenario. An arm must be the baseline in both runs or in neither."""
    first, second = (run.plan for run in runs)
    variants = {arm.name for arm in first.variants} & {arm.name for arm in second.variants}
    for scenario in first.scenarios:
        cells = [
            key for key in first.cells() if key[0] == scenario.name and key[2] in variants and key in second.cells()
        ]
        yield [key for key in cells if (key == first.baseline_of(key)) == (key == second.baseline_of(key))]


def derive(runs):
    """Every comparison of two runs, by its key."""
    plan, derived = runs[0].plan, {}
    for keys in shared(runs):
        compared_keys = [key for key in keys if key != plan.baseline_of(key)]
        count = sum(all(run.plan.role_of(key) == "variant" for run in runs) for key in compared_keys)
        # Every pair of analyses at which the two runs may have ended.
        pairs = math.prod(len(run.plan.analyses or [None]) for run in runs)
        compared = {key: Comparison(runs, key, plan.alpha / max(count, 1) / pairs) for key in keys if compared_keys}
        # Scenarios and sizes at which the baseline changed.
        changed = {
            key[:2] for key, one in compared.items() if one.is_baseline and one.decided in ("Improved", "Regressed")
        }
        for key, one in compared.items():
            one.baseline_changed = key[:2] in changed and not one.is_baseline
        derived.update(compared)
    return derived


def check(derived, stored):
    """Compares a stored comparison with the derived one."""
    tally = Tally(omits=False)
    found = {(one["scenario"], one["sizeBytes"], one["arm"]): one for one in stored["comparisons"]}
    tally.compare("list", "comparisons", sorted(found), sorted(derived))
    for key in derived.keys() & found.keys():
        derived[key].check(found[key], f"comparison {key}", tally)
    return tally


def main(first, second, *files):
    """Checks each file that contains a comparison of the two runs."""
    directories, failed = map(Path, (first, second)), False
    runs = [of_stored(json.loads((one / "run.json").read_text()), read(one)[0]) for one in directories]
    derived = derive(runs)
    for file in files:
        tally = check(derived, json.loads(Path(file).read_text()))
        print(tally.line(file))
        for difference in tally.differences:
            print(f"{file}: {difference}", file=sys.stderr)
        failed |= bool(tally.differences)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
