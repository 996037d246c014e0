"""Decides whether the optimizations of an arm engaged, from the spec and the posting counters."""

APPLIES = None


def planned(arm, baseline, scenario, length, rails):
    """The requested optimizations of the arm, with `NotApplicable` if the spec already excludes one at this size."""
    used, chunk, last, posts, *_ = arm.posting(scenario, length, rails)
    found = {}
    if arm.inject is not None:
        excluded = scenario.operation not in ("Send", "WriteImmediate") or min(chunk, last) > arm.inject
        found["Inject"] = "NotApplicable" if excluded else APPLIES
    if arm.doorbell:
        found["Doorbell"] = "NotApplicable" if scenario.operation == "Read" or posts < 2 else APPLIES
    if arm.policy == "NixlCoalesce":
        plain = arm.with_policy("Nixl").stripes(length, rails)
        same = arm.stripes(length, rails) in (plain, baseline.stripes(length, rails))
        found["Coalesce"] = "NotApplicable" if rails == 1 or length < arm.threshold or same else APPLIES
    return found


def inject(posts):
    """Engagement of inject, which is confirmed if exactly the injected posts had no completion."""
    total = totals(posts)
    if not total["injected"]:
        return "NotEngaged"
    if total["refused"]:
        return "NotEngaged"
    return "Confirmed" if total["completions"] == total["posts"] - total["injected"] else "RequestedOnly"


def doorbell(posts):
    """Engagement of doorbell, which is never confirmed, because no provider reports its doorbells."""
    total = totals(posts)
    bursts = max(one["counters"]["postsPerBurst"] for one in posts)
    if bursts < 2 or total["injected"] == total["posts"] > 0:
        return "NotApplicable"
    return "RequestedOnly" if total["more"] else "NotEngaged"


def totals(posts):
    """Sums of the counters over all posting sides."""
    names = ("posts", "injected", "refused", "completions", "more")
    return {name: sum(one["counters"][name] for one in posts) for name in names}


def derive(arm, baseline, scenario, length, rails, posts):
    """The engagement of each optimization; None for coalescing that applies, because it needs interface counters."""
    rules = {"Inject": inject, "Doorbell": doorbell}
    found = planned(arm, baseline, scenario, length, rails)
    return {name: known or (rules[name](posts) if name in rules else None) for name, known in found.items()}
