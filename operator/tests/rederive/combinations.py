"""The variants that a run's factors represent."""

import itertools

NAMES = ("inject", "doorbell", "coalesce")


def chosen_factors(spec):
    """The factors of a spec, in their fixed order."""
    return [name for name in NAMES if (spec.get("factors") or {}).get(name) is not None]


def combinations(spec):
    """The variants of a spec; if it has factors, the baseline and every combination of them."""
    names = chosen_factors(spec)
    if not names:
        return spec["variants"]
    (baseline,) = spec["variants"]
    found = []
    for states in itertools.product((False, True), repeat=len(names)):
        # The first factor changes fastest.
        active = [name for name, state in zip(names, reversed(states)) if state]
        found.append(with_factors(baseline, spec["factors"], active) if active else baseline)
    return found


def with_factors(baseline, factors, active):
    changed = {"name": "-".join(active)} | {name: factors[name] for name in active if name != "coalesce"}
    if "coalesce" in active:
        own = {"policy": "NixlCoalesce", "thresholdBytes": (baseline.get("striping") or {}).get("thresholdBytes")}
        changed["striping"] = own | factors["coalesce"]
    return baseline | changed


def effect_count(names):
    """Number of effects: one for each factor, one for each interaction, and one for the combination of all factors if
    there are more than two."""
    return 2 ** len(names) - 1 + (len(names) > 2)
