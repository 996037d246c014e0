"""Decides why a comparison's verdict is withheld."""

import math

from . import claimed, differences, proof


def reason(run, key, rounds, suspect, last=math.inf):
    """The most fundamental reason, as named in the `withheld` field of a comparison. `rounds` is the number of
    rounds in which both arms have a value, and `suspect` the scenarios and sizes at which a control shows a change. Only rounds up to `last` are
    considered. The machines are compared only up to the round in which the comparison ended."""
    compared = (key, run.plan.baseline_of(key))
    if any(case.proof == "Contradicted" for one in compared for case in run.measured(one, last)):
        return "FabricContradicted"
    if not rounds or not all(run.valid(one, last) for one in compared):
        return "NotMeasured"
    end = min(last, run.stopping.ended.get(key, (math.inf,))[0])
    if run.plan.separation_of(key[2]) in ("image", "claims") and devices_differ(run, key[2], end):
        return "DifferentDevices"
    if key[:2] in suspect:
        return "ControlViolated"
    engaged = set(run.engagements(key, last).values())
    if "NotEngaged" in engaged:
        return "NotEngaged"
    if differences.are_inert(run, key):
        return "NotEngaged"
    role = run.plan.role_of(key)
    if role == "not applicable" or (role == "variant" and engaged == {"NotApplicable"} and same_chunks(run.plan, key)):
        return "NotApplicable"
    if role == "variant" and withholds_shared(run):
        if any(proof.weakest(run.measured(one, last)) == "Shared" for one in compared):
            return "InterfaceShared"
    return None


def devices_differ(run, arm, last):
    """Whether the legs of the arm and the baseline up to round `last` ran on different nodes, or on different devices
    although they request the same ones."""
    baseline = run.plan.baseline
    same_claims = run.plan.arm(arm).claims == baseline.claims
    own, others = (machines(run, name, last) for name in (arm, baseline.name))
    if not same_claims:
        own, others = ({machine[0] for machine in one} for one in (own, others))
    if own != others:
        return True
    if baseline.claims is None:
        return False
    own, others = (claimed.Devices(run, claimed.legs(run, name, last)) for name in (arm, baseline.name))
    if own.changed or others.changed:
        return True
    return same_claims and own.known and others.known and own.groups != others.groups


def withholds_shared(run):
    """Whether other traffic on the interfaces withholds verdicts. By default it does on nodes that are reserved for the
    run."""
    chosen = run.plan.shared_interface
    nodes = [hello["environment"].get("node") for hello in run.records.hellos.values()]
    return chosen == "Withhold" if chosen else bool(nodes) and run.plan.exclusive and all(nodes)


def same_chunks(plan, key):
    """Whether the arm differs from the baseline only in how it posts, and uses the same rails and chunks."""
    chunks = [one.stripes(key[1], plan.rails)[:2] for one in (plan.arm(key[2]), plan.baseline)]
    return plan.separation_of(key[2]) == "tuning" and chunks[0] == chunks[1]


def machines(run, arm, last):
    """Every worker's node and RDMA devices in the legs that measure the arm in a round up to `last`."""
    measured = claimed.legs(run, arm, last)
    hellos = [(key, hello["environment"]) for key, hello in run.records.hellos.items() if key[0] in measured]
    return {(run.records.node(key[:2], key[2]), *one.get("rdmaDevices", [])) for key, one in hellos}
