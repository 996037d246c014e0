"""Decides what a run measures and which comparisons get verdicts, from the spec alone."""

import hashlib

from . import calls, footprint, serving, stopping, sweeps
from .combinations import chosen_factors, combinations, effect_count
from .arms import Arm
from .quantities import size
from .scenarios import Scenario

CONTROLS = {"tuning": "control", "environment": "control-environment", "image": "control-image", "claims": "control-claims"}


def seed(run):
    """The run's seed: the seed in the spec or, by default, the highest 53 bits of the SHA-256 hash of the UID."""
    given = run["spec"].get("sampling", {}).get("seed")
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(run["metadata"]["uid"].encode()).digest()[:8], "big") >> 11


class Plan:
    """The arms, the scenarios and the role of each comparison. A key consists of a scenario, a size and an arm name."""

    def __init__(self, run):
        spec = run["spec"]
        self.rails = next(iter(spec["transport"].values())).get("rails", 1)
        self.expectations = spec.get("expectations") or []
        placement = spec.get("placement") or {}
        self.many_to_many = placement.get("pattern") == "ManyToMany"
        receivers = placement["receivers"] if self.many_to_many else None
        self.factors = chosen_factors(spec)
        self.variants = [Arm(spec, one) for one in combinations(spec)]
        self.baseline = next(arm for arm in self.variants if arm.name == spec["baseline"])
        sampling = spec.get("sampling") or {}
        self.exclusive = placement.get("exclusive", True)
        # Whether other traffic on the interfaces withholds verdicts; None if the spec does not say.
        self.shared_interface = sampling.get("sharedInterface")
        deadline = (spec.get("runPolicy") or {}).get("caseDeadlineSeconds", 60)
        expanded = [
            one
            for scenario in spec["scenarios"]
            for with_workers in serving.expanded(scenario, receivers)
            for with_consumers in footprint.expanded(with_workers)
            for one in sweeps.expanded(with_consumers)
        ]
        self.scenarios = [Scenario(one, sampling, deadline, receivers) for one in expanded]
        self.alpha = (100 - sampling.get("confidencePercent", 95)) / 100
        self.margin = sampling.get("marginPercent", 2)
        self.controls = self.control_names() if sampling.get("control", True) else []
        roles = [(key[0], self.role_of(key)) for key in self.compared()]
        self.family = {one.name: roles.count((one.name, "variant")) for one in self.scenarios}
        self.control_family = sum(role in ("negative", "control") for _, role in roles)
        effects = effect_count(self.factors)
        self.factor_family = {one.name: effects * len(one.sizes) for one in self.scenarios}
        largest = max([*self.family.values(), *self.factor_family.values(), self.control_family])
        self.analyses = stopping.analyses(sampling, self.alpha, largest)
        self.rounds = sampling.get("rounds") or stopping.default_rounds(sampling, self.alpha, largest)

    def level(self, comparisons):
        """Significance level of each of `comparisons` comparisons at one analysis, with Bonferroni correction."""
        return self.alpha / max(comparisons, 1) / len(self.analyses or [None])

    def expected_sizes(self, expectation):
        """Sizes to which an expectation applies."""
        sizes = expectation.get("sizes") or {}
        at_least, below = size(sizes.get("atLeast", 0)), size(sizes.get("below", 2**63))
        return [length for length in self.scenario(expectation["scenario"]).sizes if at_least <= length < below]

    def expected_change(self, expectation):
        """Sign of an expected change, and its minimum size as a percentage."""
        if change := expectation.get("increasePercent"):
            return 1, change.get("min", 0)
        return -1, expectation["decreasePercent"].get("min", 0)

    def comparisons(self):
        """Scenario, size, arm and metric of every comparison in the status."""
        listed = []
        for key in self.compared():
            named = [one for one in self.expectations if (one["scenario"], one["variant"]) == (key[0], key[2])]
            metrics = {self.scenario(key[0]).primary} | {one["metric"] for one in named}
            listed += [(*key, metric) for metric in metrics]
        return listed

    def names(self):
        """The names of all arms."""
        return [arm.name for arm in self.variants] + self.controls

    def cells(self):
        """The key of every arm at every size."""
        return [(one.name, length, name) for one in self.scenarios for length in one.sizes for name in self.names()]

    def compared(self):
        """Keys of all comparisons."""
        return [key for key in self.cells() if key[2] != self.baseline.name]

    def baseline_of(self, key):
        """The baseline cell that the arm in `key` is compared with."""
        return *key[:2], self.baseline.name

    def scenario(self, name):
        return next(one for one in self.scenarios if one.name == name)

    def arm(self, name):
        """The variant with this name, or the baseline if the name belongs to a control arm."""
        return next((one for one in self.variants if one.name == name), self.baseline)

    def control_names(self):
        """Names of the control arms: one for each kind of separation between a variant and the baseline."""
        others = [arm for arm in self.variants if arm is not self.baseline]
        return [CONTROLS[one] for one in sorted({self.separation_of(arm.name) for arm in others} or {"tuning"})]

    def separation_of(self, name):
        """`tuning` if the arm runs in the baseline's process, `environment` if it runs in a different process with the
        same image, `image` if it uses a different image, and `claims` if its workers claim different devices."""
        for separation, control in CONTROLS.items():
            if name == control:
                return separation
        arm = self.arm(name)
        if arm.claims != self.baseline.claims:
            return "claims"
        if arm.image != self.baseline.image:
            return "image"
        return "tuning" if arm.process == self.baseline.process else "environment"

    def role_of(self, key):
        """Role of a comparison: `variant`, `not applicable`, `negative` or `control`."""
        name, length, arm = key
        if arm in self.controls:
            return "control"
        scenario, arm = self.scenario(name), self.arm(arm)
        if scenario.is_command:
            same, others_differ = True, arm.arguments != self.baseline.arguments
        else:
            same, others_differ = self.post_alike(scenario, arm, length), self.channels_differ(scenario, arm, length)
            if not others_differ and not any(self.uses_library(scenario, one) for one in (arm, self.baseline)):
                return "negative" if self.differs_only_in_library(arm) else "variant"
        if self.separation_of(arm.name) != "tuning" or not same or others_differ:
            return "variant"
        return "negative" if arm.inject == self.baseline.inject else "not applicable"

    def uses_library(self, scenario, arm):
        """Whether the timed operations of an arm may use the library of its transport."""
        if scenario.kind == "rpc":
            return arm.channel == "Transport"
        return scenario.kind != "footprint" and scenario.mode not in ("Filesystem", "Multicast")

    def differs_only_in_library(self, arm):
        """Whether an arm differs from the baseline only in settings of the library: its transport, its directory, its
        variables and how it posts."""
        pods = (arm.image, arm.claims) == (self.baseline.image, self.baseline.claims)
        return pods and arm.other_variables() == self.baseline.other_variables()

    def post_alike(self, scenario, arm, length):
        """Whether an arm posts what the baseline posts."""
        return arm.posting(scenario, length, self.rails) == self.baseline.posting(scenario, length, self.rails)

    def channels_differ(self, scenario, arm, length):
        """Whether the channel of an arm's calls differs from the baseline's."""
        channels = {calls.effective_channel(one.channel, length) for one in (arm, self.baseline)}
        return scenario.uses_channels and len(channels) > 1

    def is_off_fabric(self, key):
        """Whether a cell's calls stay on the initiator's machine, outside the transport."""
        return self.scenario(key[0]).uses_channels and self.arm(key[2]).channel != "Transport"

    def moves_payload(self, name, length, arm):
        """Whether an operation of an arm moves its payload bytes. A local call and shared memory do not."""
        channel = calls.effective_channel(self.arm(arm).channel, length)
        return not self.scenario(name).uses_channels or channel not in ("Local", "SharedMemory")

    def gangs(self):
        """The names of the arms that run together: those with the same image and claims. The control arms of legs run
        alone."""
        found = {}
        for name in self.names():
            arm, is_alone = self.arm(name), name in (CONTROLS["image"], CONTROLS["claims"])
            found.setdefault(name if is_alone else (arm.image, repr(arm.claims)), []).append(name)
        return list(found.values())
