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


class Effects:
    """The effect of each round, the median over its pairs: of the printed values, and its lower and upper bound. There is no
    effect if a tool printed 0 for one of the values."""

    def __init__(self, kind, factors, rounds):
        self.below = any(value[1] <= 0 for pairs in rounds for values in pairs for value in values.values())
        rounds = [] if self.below else rounds
        least, most = (1, 2), (2, 1)
        self.printed, self.lower, self.upper = (
            [statistics.median(self.bound(kind, factors, one, choice) for one in pairs) for pairs in rounds]
            for choice in ((0, 0), least, most)
        )
        self.is_exact = self.lower == self.printed == self.upper

    @staticmethod
    def bound(kind, factors, values, choice):
        """A bound of the contrast. `choice` is the bound of the values that raise the contrast and of those that lower it."""
        raises = {
            one: contrast(kind, factors, {other: float(one == other) for other in values}) > 0 for one in values
        }
        chosen = {one: math.log(bounds[choice[0 if raises[one] else 1]]) for one, bounds in values.items()}
        return contrast(kind, factors, chosen)


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
        """For each round, the bounds of the values of every set of factors in each pair in which all have a value."""
        last = min(self.run.stopping.last_round(key) for active, key in self.keys.items() if active)
        found = collections.defaultdict(dict)
        for active, key in self.keys.items():
            for case in self.run.units(key, last):
                if (bounds := case.bounds(self.scenario.primary)) is not None:
                    found[case.round, case.pair][active] = bounds
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
            values = Effects(kind, factors, rounds)
            bounds = verdict = estimate = None
            if rounds and not self.run.stopping.awaits():
                bounds = inference.widened(values, level)
                estimate = inference.estimate(values.printed) if values.printed else None
                if not blocked and set(factors) <= set(applying):
                    higher = self.scenario.primary in inference.HIGHER_IS_BETTER
                    verdict = inference.verdict(bounds, self.run.plan.margin, higher)
            yield kind, factors, len(rounds), estimate, bounds, verdict


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
