"""Decides whether the environment variables, the library, the image and the claims of an arm can have an effect, from the
records."""

from . import claimed
from .protocols import LANES, names_lane

# Lanes that read the variables of UCX with a prefix. dc lanes also read those of rc and ud.
READERS = {
    "UCX_TCP_": ("tcp",),
    "UCX_RC_": ("rc_", "dc_"),
    "UCX_UD_": ("ud_", "dc_"),
    "UCX_DC_": ("dc_",),
    "UCX_IB_": LANES["ib"],
}
# Names in the spec that allow RDMA devices.
RDMA = {"all", "ib", "rc", "rc_v", "rc_x", "ud", "ud_v", "ud_x", "dc", "dc_x"}
# Lanes of which it is known which variables they read.
KNOWN = ("tcp", "self", *LANES["sm"], *LANES["ib"], *LANES["cuda"])


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
            unread = {rank: not place and is_unread(run, variable, (arm, baseline), rank) for rank in pairs}
            values = [of_variable(variable, variable in mine, *pair, unread[rank]) for rank, pair in pairs.items()]
            found[variable] = strongest([one for one in values if one])
    if arm.process[1] != baseline.process[1]:
        found["library"] = of_files(pairs)
    if arm.image != baseline.image:
        # The same files do not rule out an effect: the records do not contain every variable that an image sets.
        found["image"] = strongest([of_files(pairs), "RequestedOnly"])
    if arm.claims != baseline.claims:
        devices = [claimed.Devices(run, claimed.legs(run, one)) for one in (name, baseline.name)]
        found["claims"] = claimed.engagement((arm.claims, baseline.claims), *devices)
    return found


def is_unread(run, variable, arms, rank):
    """Whether the variable belongs to UCX transports of which neither the arm nor the baseline has a lane at the rank."""
    readers = next((lanes for prefix, lanes in READERS.items() if variable.startswith(prefix)), None)
    options = [arm.transport.get("ucx") for arm in arms]
    lanes = [run.records.lanes(arm.name, rank) for arm in arms]
    if readers is None or variable.startswith("UCX_TCP_CM_") or None in options or None in lanes:
        return False
    # UCX registers memory with RDMA devices also without a lane, if the spec allows such transports.
    requested = {name for one in options for name in one["transports"]}
    if variable.startswith("UCX_IB_") and requested & RDMA:
        return False
    used = [lane.split("/")[0] for lane in set.union(*lanes)]
    return all(names_lane(KNOWN, lane) and not names_lane(readers, lane) for lane in used)


def strongest(values):
    """If the workers differ, the strongest evidence of an effect counts."""
    order = ("Confirmed", "RequestedOnly", "NotEngaged")
    return min(values, key=order.index, default="RequestedOnly")


def of_variable(name, is_set, own, baseline, unread):
    """The engagement of a variable on one worker; None if the records do not mention it."""
    facts = [one["variables"].get(name) for one in (own, baseline)]
    if None in facts:
        return None
    knowledge = facts[0 if is_set else 1]["knowledge"]
    if knowledge in ("Unknown", "NotLoaded") or (knowledge == "Known" and unread):
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
