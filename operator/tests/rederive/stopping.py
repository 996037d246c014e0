"""Decides after how many rounds each comparison ends, from the spec and the records."""

import math
import statistics

from . import inference

MAX_ROUNDS = 60
SPARE_ROUNDS = 4
GROWTH = 1.6
LEAST_PROBABILITY = 0.1
EFFECTS, ESTIMATES = 41, 100


def analyses(sampling, alpha, largest):
    """Numbers of rounds after which the run is analyzed; None for a single analysis after all rounds."""
    if sampling.get("stop", "Fixed") == "Fixed":
        return None
    rounds, count = sampling.get("rounds", MAX_ROUNDS), 1

    def first():
        return math.ceil(math.log2(2 * max(largest, 1) * count / alpha)) + SPARE_ROUNDS

    while 1 + max(half_up(math.log(rounds / first()) / math.log(GROWTH)), 0) > count:
        count += 1
    if count == 1:
        return None
    between = [first() * (rounds / first()) ** (step / (count - 1)) for step in range(count - 1)]
    return [half_up(one) for one in between] + [rounds]


def half_up(value):
    return math.floor(value + 0.5)


def is_futile(bounds, center, count, later, level, decides):
    """Whether, for every effect within the bounds, the later analyses decide with a probability below ten percent."""
    normal = statistics.NormalDist()
    scores = [normal.inv_cdf((index + 0.5) / ESTIMATES) for index in range(ESTIMATES)]
    scale = (bounds[1] - bounds[0]) / 2 / inference.reach(count, level)[0]
    for step in range(EFFECTS):
        effect = bounds[0] + step / (EFFECTS - 1) * (bounds[1] - bounds[0])
        decided = 0
        for total in later:
            half, added = scale * inference.reach(total, level)[0], total - count
            mean = center + added / total * (effect - center)
            deviation = scale * math.sqrt(math.pi * added / 3) / total
            decided += sum(decides((mean + one * deviation - half, mean + one * deviation + half)) for one in scores)
        if decided / ESTIMATES >= LEAST_PROBABILITY:
            return False
    return True


class Stopping:
    """The analyses for which all records exist, and the comparisons that these analyses ended."""

    def __init__(self, check):
        self.check, self.plan = check, check.plan
        self.complete, self.ended = 0, {}
        self.expected = set()
        self.last = math.inf
        if self.plan.analyses:
            self.analyze()

    def analyze(self):
        keys = [(scenario.name, length, arm) for scenario, length, arm in self.plan.cells()]
        measured = {(case.round, *key) for key, cases in self.check.cells.items() for case in cases}
        start = 1
        for index, last in enumerate(self.plan.analyses):
            needed = set(self.needed(keys)) if index else {*keys, *self.baselines(keys)}
            stage = {(number, *key) for number in range(start, last + 1) for key in needed}
            self.expected |= stage
            if not stage <= measured:
                return
            self.complete, self.last, start = index + 1, last, last + 1
            later = self.plan.analyses[index + 1 :]
            if later:
                at_analysis = {key: self.end(key, last, later) for key in self.open(keys)}
                self.ended.update({key: (last, reason) for key, reason in at_analysis.items() if reason})

    def baselines(self, keys):
        return {(scenario, length, self.plan.baseline.name) for scenario, length, _ in keys}

    def open(self, keys):
        """Comparisons that have at least one question and have not ended."""
        return [key for key in keys if key not in self.ended and self.questions(key)]

    def needed(self, keys):
        """Cells that the next stage measures."""
        sizes = {key[:2] for key in self.open(keys)}
        for key in [*keys, *self.baselines(keys)]:
            is_variant = key[2] != self.plan.baseline.name and self.role(key) == "variant"
            if key[:2] in sizes and (not is_variant or key not in self.ended):
                yield key

    def scenario(self, name):
        return next(one for one in self.plan.scenarios if one.name == name)

    def role(self, key):
        return self.plan.role(self.scenario(key[0]), *key[1:])

    def questions(self, key):
        """Questions of a comparison: each a metric and a function that returns whether bounds decide the question."""
        scenario, margin = self.scenario(key[0]), self.plan.margin
        found = []
        if self.role(key) == "variant":
            found.append((scenario.primary, lambda bounds: inference.verdict(bounds, margin, True) != "Inconclusive"))
        for one in self.plan.expectations:
            if (one["scenario"], one["variant"]) == (key[0], key[2]) and key[1] in self.plan.expected_sizes(one):
                sign, least = self.plan.expected_change(one)
                found.append(
                    (
                        one["metric"],
                        lambda bounds, sign=sign, least=least: inference.expectation(bounds, sign, least, margin)
                        != "Inconclusive",
                    )
                )
        return found

    def end(self, key, last, later):
        """Reason why the comparison ends: `Settled`, `Futile` or `NoVerdict`; None if it continues."""
        scenario = self.scenario(key[0])
        primary = self.check.effects(scenario.name, *key[1:], scenario.primary, last)
        comparison = {"scenario": key[0], "sizeBytes": key[1], "arm": key[2]}
        withheld = self.check.reason_to_withhold(comparison, self.role(key), set())
        if not primary or withheld == "NotEngaged" or (withheld and self.role(key) == "variant"):
            return "NoVerdict"
        answers = {self.answer(key, metric, decides, last, later) for metric, decides in self.questions(key)}
        return None if "open" in answers else "Futile" if "Futile" in answers else "Settled"

    def answer(self, key, metric, decides, last, later):
        level = self.plan.level(self.plan.family[key[0]])
        effects = self.check.effects(*key, metric, last)
        bounds = inference.interval(effects, level) if effects else None
        if not bounds:
            return "open"
        if decides(bounds):
            return "Settled"
        totals = [one - (last - len(effects)) for one in later]
        futile = is_futile(bounds, inference.estimate(effects), len(effects), totals, level, decides)
        return "Futile" if futile else "open"
