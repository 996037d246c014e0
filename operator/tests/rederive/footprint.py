"""Checks the memory used by a host and its consumers."""

import math

from . import calls
from .tally import ROUNDING

PPM = 10**6


def counts(given):
    """The numbers of consumers: a number or a list of numbers, 10 by default."""
    listed = given.get("consumers", 10)
    return listed if isinstance(listed, list) else [listed]


def expanded(scenario):
    """One scenario for each number of consumers, if there are several."""
    given = scenario.get("memoryFootprint")
    listed = counts(given) if given is not None else []
    if len(listed) < 2:
        return [scenario]
    return [
        {**scenario, "name": f"{scenario['name']}-{one}", "memoryFootprint": {**given, "consumers": one}}
        for one in listed
    ]


def check(run, key, cases, stored, group, tally):
    """Compares a footprint's outcome and values. `stored` is None if the status omits the result."""
    scenario = run.plan.scenario(key[0])
    if scenario.kind != "footprint" or not cases:
        tally.compare("footprint", f"results {key} footprint", stored, None)
        return
    stored, where = stored or {}, f"results {key} footprint."
    if stored:
        section, cause = calls.classify(cases, scenario.on_gpu)
        tally.compare("footprint", f"{where}section", stored["section"], section)
        tally.compare("footprint", f"{where}cause", stored.get("cause"), cause)
        tally.compare("footprint", f"{where}consumers", stored["consumers"], scenario.consumers)
    for field, derived in values(run, key, scenario.consumers).items():
        derived = None if derived is None else math.floor(derived + 0.5)
        tally.compare("footprint", f"results {key} {group.name(field)}", group.get(field), derived, ROUNDING)


def values(run, key, consumers):
    """The values in the status, by field; None if there is no valid case."""

    def median(field):
        return run.median(key, lambda case: case.sides[0]["posted"]["footprint"].get(field, math.nan))

    def known(field):
        value = median(field)
        return None if value is None or math.isnan(value) else value

    def of_one(field):
        total = median(field)
        return None if total is None else total / consumers

    tensor, copies = median("tensorPssBytes"), key[1] * (consumers + 1)
    saved = None if tensor is None else max(copies - tensor, 0)
    return {
        "baselineBytes": median("baselinePssBytes"),
        "baselineRssBytes": median("baselineRssBytes"),
        "ownBytes": of_one("ownPssBytes"),
        "ownMinBytes": known("ownPssMinBytes"),
        "ownMaxBytes": known("ownPssMaxBytes"),
        "consumerBytes": of_one("consumersPssBytes"),
        "consumerRssBytes": of_one("consumersRssBytes"),
        "tensorBytes": tensor,
        "vramBytes": known("vramBytes"),
        "savedBytes": saved,
        "savedPpm": None if saved is None else saved / copies * PPM,
        "slopeBytes": median("slopeBytes"),
    }
