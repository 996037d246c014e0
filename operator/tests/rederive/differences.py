"""Decides whether the environment variables, the library and the image of an arm can have an effect, from the records."""


def engagements(run, key):
    """The engagement of each difference between the arm and the baseline, by variable name, `library` or `image`."""
    scenario, _, name = key
    arm, baseline = run.plan.arm(name), run.plan.baseline
    if name in run.plan.controls or run.plan.separation_of(name) == "tuning":
        return {}
    place = scenario if run.plan.scenario(scenario).is_command else None
    own, reference = (run.records.configuration(one, place) for one in (name, baseline.name))
    pairs = {rank: (own[rank], reference[rank]) for rank in own.keys() & reference.keys()}
    found = {}
    mine, others = dict(arm.process[0]), dict(baseline.process[0])
    for variable in mine.keys() | others.keys():
        if mine.get(variable) != others.get(variable):
            values = [of_variable(variable, variable in mine, *pair) for pair in pairs.values()]
            found[variable] = strongest([one for one in values if one])
    if arm.process[1] != baseline.process[1]:
        found["library"] = of_files(pairs)
    if arm.image != baseline.image:
        # The same files do not rule out an effect: the records do not contain every variable that an image sets.
        found["image"] = strongest([of_files(pairs), "RequestedOnly"])
    return found


def strongest(values):
    """If the workers differ, the strongest evidence of an effect counts."""
    order = ("Confirmed", "RequestedOnly", "NotEngaged")
    return min(values, key=order.index, default="RequestedOnly")


def of_variable(name, is_set, own, baseline):
    """The engagement of a variable on one worker; None if the records do not mention it."""
    facts = [one["variables"].get(name) for one in (own, baseline)]
    if None in facts:
        return None
    knowledge = facts[0 if is_set else 1]["knowledge"]
    if knowledge in ("Unknown", "NotLoaded"):
        return "NotEngaged"
    values = [one.get("effective") for one in facts]
    if knowledge == "Unassessed" or None in values:
        return "RequestedOnly"
    return "NotEngaged" if values[0] == values[1] else "Confirmed"


def of_files(pairs):
    """The engagement of another library or image, from the hashes of the loaded files."""
    if any(has_new_file(own, baseline) or has_new_file(baseline, own) for own, baseline in pairs.values()):
        return "Confirmed"
    hashes = [(own["hash"], baseline["hash"]) for own, baseline in pairs.values()]
    same = hashes and all(own is not None and own == baseline for own, baseline in hashes)
    return "NotEngaged" if same else "RequestedOnly"


def has_new_file(one, other):
    """Whether one process loaded a file whose contents the other, all of whose files are known, did not load."""
    if other["hash"] is None or one["hash"] == other["hash"]:
        return False
    return bool(one["files"] - other["files"])


def are_inert(run, key):
    """Whether the arm differs from the baseline only in its environment, library or image, without any effect."""
    found = set(engagements(run, key).values())
    arm, baseline, scenario = run.plan.arm(key[2]), run.plan.baseline, run.plan.scenario(key[0])
    parts = ("transport", "inject", "doorbell", "policy", "threshold", "min_chunk")
    same = all(getattr(arm, part) == getattr(baseline, part) for part in parts)
    same &= arm.channel == baseline.channel or not scenario.uses_channels
    same &= arm.arguments == baseline.arguments or not scenario.is_command
    return same and found == {"NotEngaged"}
