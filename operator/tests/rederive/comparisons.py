"""Checks the comparisons, the expectations and the outcome."""

import collections
import functools

from . import inference, withholding
from .tally import ROUNDING

# Reasons to withhold a verdict because the measurement itself cannot be used.
UNTRUSTED = ("NotMeasured", "FabricContradicted", "DifferentDevices")
# Reasons to withhold a verdict because something other than the arms may differ.
SUSPECT = ("ControlViolated", "InterfaceShared")


class Comparison:
    """A comparison of an arm with the baseline on one metric."""

    def __init__(self, run, suspect, key, metric):
        self.key, self.metric, self.stopping = key, metric, run.stopping
        self.primary = metric == run.plan.scenario(key[0]).primary
        self.role = run.plan.role_of(key)
        self.margin, self.level = run.plan.margin, run.plan.level(run.plan.family[key[0]])
        self.effects = run.effects(key, metric, run.stopping.last_round(key))
        self.bounds = interval(run, self.effects, run.plan.family[key[0]])
        self.withheld = withholding.reason(run, key, self.effects.rounds, suspect)
        self.verdict = None
        if self.role == "variant" and self.primary and not self.withheld:
            if run.stopping.awaits():
                self.withheld = "NotAnalyzed"
            else:
                self.verdict = inference.verdict(self.bounds, self.margin, metric in inference.HIGHER_IS_BETTER)
        self.is_open = self.verdict == "Inconclusive" and inference.is_resolution_open(
            self.effects, self.bounds, self.level, self.margin
        )
        self.inconclusive = "Resolution" if self.is_open else None
        if self.verdict == "Inconclusive" and not self.is_open and self.bounds and is_noisy(run, key):
            self.inconclusive = "Noise"

    def values(self):
        """The values that the status contains in parts per million, each with its tolerance."""
        has_estimate = self.effects.printed and not self.stopping.awaits()
        estimate = inference.estimate(self.effects.printed) if has_estimate else None
        lower, upper = self.bounds or (None, None)
        for field, log_ratio in {"effectPpm": estimate, "lowerPpm": lower, "upperPpm": upper}.items():
            yield "effect", field, None if log_ratio is None else ppm(inference.percent(log_ratio)), ROUNDING
        detectable = None
        if self.bounds:
            detectable = ppm(inference.minimum_detectable_effect(self.effects, self.level, self.margin))
        # Both implementations approximate the quantiles of the normal distribution.
        yield "detectable", "minimumDetectablePpm", detectable, 2 + (detectable or 0) / 1e6

    @functools.cached_property
    def rounds_to_settle(self):
        """The estimated number of rounds needed to settle an inconclusive verdict; None for any other verdict."""
        if self.verdict != "Inconclusive" or self.is_open or not self.effects.printed:
            return None
        return inference.rounds_to_settle(self.effects, self.level, self.margin)


def ppm(percent):
    return round(percent * 1e4)


def interval(run, effects, comparisons):
    """Confidence interval of the effects at the level of one of `comparisons` comparisons; None before the first
    analysis."""
    if run.stopping.awaits():
        return None
    return inference.widened(effects, run.plan.level(comparisons))


@functools.lru_cache(maxsize=2)
def noisy_controls(run):
    """Keys of the controls whose interval extends beyond the margin, unless the resolution is the cause."""
    found = []
    for key in run.plan.compared():
        if run.plan.role_of(key) in ("negative", "control"):
            effects = run.effects(key, run.plan.scenario(key[0]).primary, run.stopping.last_round(key))
            bounds, level = interval(run, effects, run.plan.family[key[0]]), run.plan.level(run.plan.family[key[0]])
            is_open = bounds and inference.is_resolution_open(effects, bounds, level, run.plan.margin)
            if bounds and not is_open and inference.verdict(bounds, run.plan.margin, True) != "NoChange":
                found.append(key)
    return found


def is_noisy(run, key):
    """Whether a control at the same size, separated from the baseline in the same way, extends beyond the margin."""
    separation = run.plan.separation_of
    return any(one[:2] == key[:2] and separation(one[2]) == separation(key[2]) for one in noisy_controls(run))


def suspect(run):
    """Scenarios and sizes at which a control shows a change."""
    found = set()
    for key in run.plan.compared():
        if run.plan.role_of(key) in ("negative", "control"):
            effects = run.effects(key, run.plan.scenario(key[0]).primary, run.stopping.last_round(key))
            bounds = interval(run, effects, run.plan.control_family)
            if inference.verdict(bounds, run.plan.margin, True) in ("Improved", "Regressed"):
                found.add(key[:2])
    return found


@functools.lru_cache(maxsize=2)
def derive(run):
    """Every comparison that the status must contain, by its key and metric. The result is cached, so callers must not modify
    it."""
    violated = suspect(run)
    return {one: Comparison(run, violated, one[:3], one[3]) for one in run.plan.comparisons()}


def check(one, stored, tally):
    """Compares every field in a comparison. `stored` is empty if the status omits it."""
    where = f"comparison {(*one.key, one.metric)}"
    for kind, field, derived, tolerance in one.values():
        tally.compare(kind, f"{where} {field}", stored.get(field), derived, tolerance)
    tally.compare("rounds-to-settle", f"{where} roundsToSettle", stored.get("roundsToSettle"), one.rounds_to_settle)
    if stored:
        ended = stored.get("ended") and (stored["ended"]["rounds"], stored["ended"]["reason"])
        tally.compare("end", f"{where} ended", ended, one.stopping.ended.get(one.key))
        tally.compare("rounds", f"{where} rounds", stored["rounds"], one.effects.rounds)
        is_control = one.role in ("negative", "control")
        tally.compare("role", f"{where} negativeControl", stored["negativeControl"], is_control)
        tally.compare("role", f"{where} primary", stored["primary"], one.primary)
        tally.compare("verdict", f"{where} verdict", stored.get("verdict"), one.verdict)
        tally.compare("withheld", f"{where} withheld", stored.get("withheld"), one.withheld)
        tally.compare("inconclusive", f"{where} inconclusive", stored.get("inconclusive"), one.inconclusive)


def expectation(plan, expected, comparisons):
    """Outcome of an expectation: the worst outcome at any of its sizes."""
    outcomes = collections.Counter()
    for length in plan.expected_sizes(expected):
        one = comparisons[expected["scenario"], length, expected["variant"], expected["metric"]]
        bounds = one.bounds if one.withheld in (None, "NotApplicable") else None
        outcomes[inference.expectation(bounds, *plan.expected_change(expected), plan.margin)] += 1
    worst = (one for one in ("NotMet", "Inconclusive", "Met") if outcomes[one])
    return next(worst, "Inconclusive")
