"""Decides after how many rounds each comparison ends, from the spec and the records."""

import functools
import math
import statistics

from . import comparisons, inference, withholding

MAX_ROUNDS = 60
SPARE_ROUNDS = 4
GROWTH = 1.6
LEAST_PROBABILITY = 0.1
EFFECTS, ESTIMATES = 41, 100


def first_analysis(largest, count, alpha):
    """The recommended number of rounds for the largest family, at the level of each of `count` analyses."""
    return math.ceil(math.log2(2 * max(largest, 1) * count / alpha)) + SPARE_ROUNDS


def default_rounds(sampling, alpha, largest):
    """Number of rounds if the spec does not set it."""
    return MAX_ROUNDS if sampling.get("stop") == "Settled" else first_analysis(largest, 1, alpha)


def analyses(sampling, alpha, largest):
    """Round counts after which the run is analyzed; None for a single analysis after all rounds."""
    if sampling.get("stop", "Fixed") == "Fixed":
        return None
    rounds, count = sampling.get("rounds", MAX_ROUNDS), 1

    def ratio():
        return rounds / first_analysis(largest, count, alpha)

    while 1 + max(round_half_up(math.log(ratio()) / math.log(GROWTH)), 0) > count:
        count += 1
    if count == 1:
        return None
    between = [rounds / ratio() * ratio() ** (step / (count - 1)) for step in range(count - 1)]
    return [round_half_up(one) for one in between] + [rounds]


def round_half_up(value):
    return math.floor(value + 0.5)


def is_futile(bounds, center, count, later, level, decides):
    """Whether the probability that a later analysis decides the question is below ten percent for every effect in the
    bounds."""
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

    def __init__(self, run):
        self.run, self.plan = run, run.plan
        # An analysis's controls depend on the analyses before it.
        run.stopping = self
        self.complete, self.ended = 0, {}
        self.last = math.inf
        # The cells that each stage measures. Stages that have not been reached will measure the open comparisons.
        self.stages = []
        # The cells in each round that the stages reached so far measure.
        self.expected = set()
        if self.plan.analyses:
            self.analyze()

    def analyze(self):
        measured = {(case.round, *case.key) for case in self.run.cases}
        start, reached = 1, True
        for index, last in enumerate(self.plan.analyses):
            needed = set(self.needed()) if index else set(self.plan.cells())
            self.stages.append(needed)
            if not reached:
                continue
            stage = {(number, *key) for number in range(start, last + 1) for key in needed}
            self.expected |= stage
            reached = stage <= measured
            if not reached:
                continue
            self.complete, self.last, start = index + 1, last, last + 1
            later = self.plan.analyses[index + 1 :]
            if later:
                self.suspect = comparisons.suspect(self.run)
                at_analysis = {key: self.end(key, last, later) for key in self.open()}
                self.ended.update({key: (last, reason) for key, reason in at_analysis.items() if reason})

    def awaits(self):
        """Whether no interval exists yet, because the first of several analyses is not complete."""
        return bool(self.plan.analyses) and not self.complete

    def last_round(self, key):
        """Last round that is included in a comparison's results."""
        return self.ended.get(key, (self.last, None))[0]

    def open(self):
        """Comparisons that have a question to decide and have not ended."""
        return [key for key in self.plan.compared() if key not in self.ended and self.questions(key)]

    def needed(self):
        """Cells that the next stage measures."""
        sizes = {key[:2] for key in self.open()}
        for key in self.plan.cells():
            is_variant = key[2] != self.plan.baseline.name and self.plan.role_of(key) == "variant"
            if key[:2] in sizes and (not is_variant or key not in self.ended):
                yield key

    def questions(self, key):
        """A comparison's questions: pairs of a metric and a function that returns whether bounds decide it."""
        primary, margin = self.plan.scenario(key[0]).primary, self.plan.margin
        found = []
        if self.plan.role_of(key) == "variant":
            found.append((primary, lambda bounds: inference.verdict(bounds, margin, True) != "Inconclusive"))
        for one in self.plan.expectations:
            if (one["scenario"], one["variant"]) == (key[0], key[2]) and key[1] in self.plan.expected_sizes(one):
                change = self.plan.expected_change(one)
                found.append((one["metric"], functools.partial(meets, change, margin)))
        return found

    def end(self, key, last, later):
        """`Settled`, `Futile` or `NoVerdict`; None if the comparison continues."""
        primary, role = self.plan.scenario(key[0]).primary, self.plan.role_of(key)
        withheld = withholding.reason(self.run, key, self.run.effects(key, primary, last).rounds, self.suspect, last)
        if withheld == "ControlViolated":
            return None
        if withheld == "InterfaceShared":
            # Analyses do not depend on other traffic.
            withheld = None
        # The interval of an arm without a difference from the baseline is valid, so expectations about it can be
        # decided.
        if withheld and withheld != "NotApplicable":
            return "NoVerdict"
        questions = self.questions(key)
        if withheld and role == "variant":
            questions = questions[1:]
        if not questions:
            return "NoVerdict"
        answers = {self.answer(key, metric, decides, last, later) for metric, decides in questions}
        return None if "open" in answers else "Futile" if "Futile" in answers else "Settled"

    def answer(self, key, metric, decides, last, later):
        level = self.plan.level(self.plan.family[key[0]])
        effects = self.run.effects(key, metric, last)
        bounds = inference.widened(effects, level)
        if not bounds:
            # A value below the resolution of its tool remains one.
            return "Futile" if effects.below else "open"
        if decides(bounds):
            return "Settled"
        printed, center = inference.interval(effects.printed, level), inference.estimate(effects.printed)
        lower, upper = inference.resolution(effects)

        def decides_later(found):
            return decides((found[0] - (center - lower), found[1] + (upper - center)))

        totals = [one - (last - effects.rounds) for one in later]
        futile = is_futile(printed, center, effects.rounds, totals, level, decides_later)
        return "Futile" if futile else "open"


def meets(change, margin, bounds):
    """Whether the bounds decide whether an expected change is met."""
    return inference.expectation(bounds, *change, margin) != "Inconclusive"
