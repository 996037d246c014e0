"""The effects of factors."""

import collections
import itertools
import math
import statistics

from . import comparisons, inference, withholding
from .tally import ROUNDING

MAX_EFFECTS = 128
# Reasons that make a combination's values unusable for every effect at its size.
BLOCKING = (*comparisons.UNTRUSTED, *comparisons.SUSPECT, "NotEngaged")


def effects(names):
    """Kind and factors of every effect, in order: fewer factors first."""
    for number in range(1, len(names) + 1):
        groups = itertools.combinations(range(len(names)), number)
        for group in sorted(groups, key=lambda one: sum(2**index for index in one)):
            yield ("Main" if number == 1 else "Interaction"), tuple(names[index] for index in group)
    if len(names) > 2:
        yield "Combination", tuple(names)


def contrast(kind, factors, values):
    """The effect in one round, given the logarithm of the metric for every set of factors."""
    if kind == "Combination":
        base = values[frozenset()]
        separate = sum(values[frozenset([one])] - base for one in factors)
        return values[frozenset(factors)] - base - separate
    of_others = collections.defaultdict(float)
    for active, value in values.items():
        missing = len(set(factors) - active)
        of_others[active - set(factors)] += value * (-1) ** missing
    return statistics.mean(of_others.values())


class Cell:
    """The effects at one size of a scenario."""

    def __init__(self, run, scenario, length):
        self.run, self.scenario, self.length = run, scenario, length
        self.names = run.plan.factors
        baseline = run.plan.baseline.name
        sets = [frozenset(group) for count in range(len(self.names) + 1)
                for group in itertools.combinations(self.names, count)]
        ordered = {one: "-".join(name for name in self.names if name in one) or baseline for one in sets}
        self.keys = {one: (scenario.name, length, name) for one, name in ordered.items()}

    def rounds(self):
        """For each round, the values of every set of factors in each pair in which all are valid."""
        last = min(self.run.stopping.last_round(key) for active, key in self.keys.items() if active)
        found = collections.defaultdict(dict)
        for active, key in self.keys.items():
            for case in self.run.units(key, last):
                if value := case.value(self.scenario.primary):
                    found[case.round, case.pair][active] = math.log(value)
        rounds = collections.defaultdict(list)
        for (number, _), values in found.items():
            if len(values) == len(self.keys):
                rounds[number].append(values)
        return [rounds[number] for number in sorted(rounds)]

    def reasons(self, suspect):
        """Why each combination's verdict is withheld. One possible reason is that it posts what the baseline posts."""
        found = {}
        for active, key in self.keys.items():
            if active:
                shared = self.run.effects(key, self.scenario.primary, self.run.stopping.last_round(key))
                found[active] = withholding.reason(self.run, key, shared.rounds, suspect)
                if found[active] is None and self.run.plan.role_of(key) == "negative":
                    found[active] = "NotApplicable"
        return found

    def derive(self, suspect, level):
        """Every effect: kind, factors, rounds, estimate, bounds and verdict."""
        reasons, rounds = self.reasons(suspect), self.rounds()
        blocked = any(reason in BLOCKING for reason in reasons.values())
        applying = [name for name in self.names if reasons[frozenset([name])] != "NotApplicable"]
        for kind, factors in effects(self.names):
            if kind == "Combination" and len(applying) >= 2:
                factors = tuple(applying)
            values = [statistics.median(contrast(kind, factors, one) for one in pairs) for pairs in rounds]
            bounds = None
            if values and not self.run.stopping.awaits():
                bounds = inference.interval(values, level)
            verdict = None
            if values and not self.run.stopping.awaits() and not blocked and set(factors) <= set(applying):
                higher = self.scenario.primary in inference.HIGHER_IS_BETTER
                verdict = inference.verdict(bounds, self.run.plan.margin, higher)
            has_estimate = values and not self.run.stopping.awaits()
            yield kind, factors, len(values), inference.estimate(values) if has_estimate else None, bounds, verdict


def check(run, status, tally):
    """Compares every effect in the status, in order."""
    suspect = comparisons.suspect(run)
    found = []
    for scenario in run.plan.scenarios if run.plan.factors else []:
        level = run.plan.level(run.plan.factor_family[scenario.name])
        for length in scenario.sizes:
            for one in Cell(run, scenario, length).derive(suspect, level):
                found.append((scenario.name, length, *one))
    stored = status.get("factorEffects", [])
    tally.compare("list", "number of factorEffects", len(stored), min(len(found), MAX_EFFECTS))
    for one, derived in zip(stored, found):
        name, length, kind, factors, rounds, estimate, bounds, verdict = derived
        where = f"factor effect {name} {length} {kind} {' '.join(factors)}"
        key = one["scenario"], one["sizeBytes"], one["kind"], tuple(factor.lower() for factor in one["factors"])
        tally.compare("factor effect", f"{where} key", key, (name, length, kind, factors))
        tally.compare("rounds", f"{where} rounds", one["rounds"], rounds)
        tally.compare("verdict", f"{where} verdict", one.get("verdict"), verdict)
        lower, upper = bounds or (None, None)
        for field, value in {"effectPpm": estimate, "lowerPpm": lower, "upperPpm": upper}.items():
            expected = None if value is None else comparisons.ppm(inference.percent(value))
            tally.compare("effect", f"{where} {field}", one.get(field), expected, ROUNDING)
