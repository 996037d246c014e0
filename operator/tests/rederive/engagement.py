"""Decides whether an arm's optimizations took effect, from the spec and the counters."""

from . import coalesce

APPLIES = None


def planned(arm, scenario, length, rails, uses_library):
    """The optimizations that the arm requests; `NotApplicable` for those that the spec rules out at this size, and for all
    if the timed operations do not use the library."""
    if scenario.is_command:
        return {}
    found = requested(arm, scenario, length, rails)
    return found if uses_library else dict.fromkeys(found, "NotApplicable")


def requested(arm, scenario, length, rails):
    """The optimizations of an arm whose timed operations use the library."""
    _, chunk, last, posts, *_ = arm.posting(scenario, length, rails)
    found, impossible = {}, not arm.can_inject_and_batch
    if arm.inject is not None:
        excluded = scenario.operation not in ("Send", "WriteImmediate") or min(chunk, last) > arm.inject
        found["Inject"] = "NotApplicable" if impossible or excluded else APPLIES
    if arm.doorbell:
        excluded = scenario.operation == "Read" or posts < 2
        found["Doorbell"] = "NotApplicable" if impossible or excluded else APPLIES
    if arm.policy == "NixlCoalesce":
        same = arm.stripes(length, rails) == arm.with_policy("Nixl").stripes(length, rails)
        found["Coalesce"] = "NotApplicable" if rails == 1 or length < arm.threshold or same else APPLIES
    return found


def inject(total, over_verbs):
    """Confirmed if exactly as many completions are missing as posts were injected, because injected posts have none.
    With ibverbs, the runner decides which requests have a completion."""
    if not total["injected"] or total["refused"]:
        return "NotEngaged"
    if over_verbs:
        return "RequestedOnly"
    return "Confirmed" if total["completions"] == total["posts"] - total["injected"] else "RequestedOnly"


def doorbell(total, bursts):
    """Never `Confirmed`, because no provider reports its doorbells."""
    if bursts < 2 or total["injected"] == total["posts"] > 0:
        return "NotApplicable"
    return "RequestedOnly" if total["more"] else "NotEngaged"


def derive(arm, plan, scenario, length, cases):
    """The engagement of each optimization in these valid cases; empty if there are no cases."""
    counters = [one["counters"] for case in cases for one in case.posted]
    if not counters:
        return {}
    names = ("posts", "injected", "refused", "completions", "more")
    total = {name: sum(one[name] for one in counters) for name in names}
    shape, of_baseline = (one.stripes(length, plan.rails) for one in (arm, plan.baseline))
    rules = {
        "Inject": lambda: inject(total, "verbs" in arm.transport),
        "Doorbell": lambda: doorbell(total, max(one["postsPerBurst"] for one in counters)),
        "Coalesce": lambda: coalesce.engagement(shape, of_baseline, plan.rails, cases),
    }
    return {name: known or rules[name]() for name, known in planned(arm, scenario, length, plan.rails, plan.uses_library(scenario, arm)).items()}
