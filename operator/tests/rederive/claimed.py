"""The devices that the claims of an arm's workers obtained, from the claim records."""

import math


class Devices:
    """Devices in some legs. `known` is whether every claim has devices, and `groups` contains each node with the devices
    of one of its claims. `changed` is whether two attempts obtained different ones."""

    def __init__(self, run, legs):
        found = {key: one for key, one in run.records.claims.items() if key[0] in legs}
        self.records = list(found.values())
        self.known = bool(found) and all(one.get("devices") for one in self.records)
        self.groups = {group(one) for one in self.records}
        attempts = {}
        for key, one in found.items():
            if one.get("devices"):
                attempts.setdefault(key[:2], set()).add(group(one))
        self.changed = len({frozenset(groups) for groups in attempts.values()}) > 1

    def positions(self):
        """The position of the devices of each claim."""
        return {position(one["devices"]) for one in self.records}


def legs(run, arm, last=math.inf):
    """The legs that measure the arm in a round up to `last`."""
    # The facts are listed by round and restart.
    rounds = run.endpoints.rounds.items()
    return {leg for (leg, *_, other), numbers in rounds if other == arm and numbers[0][0][0] <= last}


def group(record):
    """The node of a claim with its devices."""
    devices = record.get("devices") or []
    return record.get("node"), frozenset((one["driver"], one["pool"], one["device"]) for one in devices)


def position(devices):
    """The position of devices relative to each other; None if it is unknown."""
    roots, nodes = ([one.get(name) for one in devices] for name in ("pciRoot", "numaNode"))
    if None not in roots and len(set(roots)) == 1:
        return "same root"
    if None not in nodes:
        return "same node" if len(set(nodes)) == 1 else "other nodes"
    return "other roots" if None not in roots else None


def engagement(claims, own, baseline):
    """Whether other claims had an effect. `claims` are those of the arm and of the baseline."""
    if not own.known or not baseline.known:
        return "RequestedOnly"
    if own.groups == baseline.groups:
        return "NotEngaged"
    only_alignment = claims[0][:2] == claims[1][:2]
    positions = own.positions() | baseline.positions()
    return "NotEngaged" if only_alignment and len(positions) == 1 and None not in positions else "Confirmed"
