"""Decides which comparisons get verdicts, from the spec alone."""

import copy
import hashlib

from . import stopping

UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
DEFAULT_ITERATIONS = 1000
MAX_ITERATIONS = 10_000_000
NIXL_THRESHOLD = 128 * 1024
NIXL_MIN_CHUNK = 16 * 1024
NIXL_GROUP = 16


def size(value):
    """Number of bytes of a size such as 64, "1Ki" or "16M"."""
    digits = str(value).rstrip("kKMGTi")
    return int(digits) * UNITS.get(str(value)[len(digits) :], 1)


def nanos(value):
    """Number of nanoseconds of a duration such as "20ms"."""
    digits = value.rstrip("nusmh")
    return int(digits) * TIMES[value[len(digits) :]]


def seed(run):
    """Seed of the run: the seed in the spec, or else the highest 53 bits of the SHA-256 of the UID."""
    given = run["spec"].get("sampling", {}).get("seed")
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(run["metadata"]["uid"].encode()).digest()[:8], "big") >> 11


def rails(spec):
    """Number of rails of the transport."""
    return next(iter(spec["transport"].values())).get("rails", 1)


class Scenario:
    """A scenario with its workload."""

    def __init__(self, spec, sampling, deadline):
        self.name = spec["name"]
        self.deadline = deadline
        self.kind = "pingPong" if spec.get("pingPong") else "transfer"
        work = spec[self.kind]
        self.sizes = [size(one) for one in work["sizes"]]
        self.operation = work.get("operation", "Send" if self.kind == "pingPong" else "Write")
        self.batch = 1 if self.kind == "pingPong" else work.get("batch", 1)
        self.in_flight = 0.5 if self.kind == "pingPong" else work.get("window", 1) * work.get("threads", 1)
        self.threads = work.get("threads", 1)
        self.timed = bool(work.get("duration"))
        self.iterations = work.get("iterations", DEFAULT_ITERATIONS)
        self.min_window = nanos(sampling.get("minWindow", "20ms"))
        self.both_post = self.kind == "transfer" and work.get("direction") == "Bidirectional"
        default = "LatencyP50" if self.kind == "pingPong" else "Throughput"
        self.primary = spec.get("primaryMetric") or default


    def pilot_iterations(self, pilots):
        """Operations per thread with which the fastest side fills 1.25 times the minimum window, limited so that the
        slowest side takes at most a quarter of the case deadline; None if not determined."""
        if self.timed:
            return None
        if not self.min_window:
            return self.iterations
        posted = [side["posted"] for sides in pilots for side in sides if side.get("posted")]
        posted = [one for one in posted if one["operations"] and one["elapsedNanos"]]
        elapsed = [(one["operations"], one["elapsedNanos"] * 4 * self.threads) for one in posted]
        if not posted:
            return None
        needed = max(-(-self.min_window * 5 * done // nanos) for done, nanos in elapsed)
        allowed = min(self.deadline * 10**9 * done // nanos for done, nanos in elapsed)
        return min(max(min(needed, allowed), self.iterations), MAX_ITERATIONS)


class Arm:
    """A variant or a control arm, with its settings."""

    def __init__(self, spec, variant, name=None):
        self.name = name or variant["name"]
        self.inject = size(variant["inject"]["maxBytes"]) if variant.get("inject") else None
        self.doorbell = variant["doorbell"]["maxBatch"] if variant.get("doorbell") else None
        general, own = spec.get("striping") or {}, variant.get("striping") or {}
        self.policy = own.get("policy") or general.get("policy") or "Nixl"
        self.threshold = size(own.get("thresholdBytes") or general.get("thresholdBytes") or NIXL_THRESHOLD)
        self.min_chunk = size(own.get("minChunkBytes") or general.get("minChunkBytes") or NIXL_MIN_CHUNK)
        self.image = variant.get("image") or spec.get("image")
        environment = sorted((one["name"], one["value"]) for one in variant.get("env") or [])
        self.process = (environment, variant.get("library"))

    def with_policy(self, policy):
        """The same arm with another striping policy."""
        other = copy.copy(self)
        other.policy = policy
        return other

    def stripes(self, length, rails):
        """Number of chunks, length of each chunk, and length of the last one."""
        rails = max(min(rails, length), 1)
        used = 1
        if self.policy != "Single" and length >= self.threshold:
            used = rails
            if self.policy == "NixlCoalesce" and length // rails < self.min_chunk:
                used = max(min(length // self.min_chunk, rails), 1)
        chunk = length // used
        return used, chunk, length - chunk * (used - 1)

    def posting(self, scenario, length, rails):
        """Everything that determines what the arm posts."""
        used, chunk, last = self.stripes(length, rails)
        read = scenario.operation == "Read"
        group = NIXL_GROUP if self.policy != "Single" and not read else 1
        posts = scenario.batch
        if used == 1:
            groups = -(-scenario.batch // group)
            missing = groups * group - scenario.batch if (groups - 1) % rails == 0 else 0
            posts = -(-groups // rails) * group - missing
        doorbell = max(min(posts, self.doorbell), 1) if self.doorbell and not read else 1
        limit = self.inject if scenario.operation in ("Send", "WriteImmediate") else None
        injected = [limit is not None and one <= limit for one in (chunk, last)]
        rotation = min(group, scenario.batch) if used == 1 and rails > 1 else 1
        return used, chunk, last, posts, doorbell, injected, rotation


class Plan:
    """The arms, the scenarios and the role of each comparison."""

    def __init__(self, run):
        spec = run["spec"]
        self.rails = rails(spec)
        self.expectations = spec.get("expectations") or []
        self.variants = [Arm(spec, one) for one in spec["variants"]]
        self.baseline = next(arm for arm in self.variants if arm.name == spec["baseline"])
        sampling = spec.get("sampling") or {}
        deadline = (spec.get("runPolicy") or {}).get("caseDeadlineSeconds", 60)
        self.scenarios = [Scenario(one, sampling, deadline) for one in spec["scenarios"]]
        self.alpha = (100 - sampling.get("confidencePercent", 95)) / 100
        self.margin = sampling.get("marginPercent", 2)
        self.controls = self.control_names() if sampling.get("control", True) else []
        roles = [(scenario, self.role(scenario, length, name)) for scenario, length, name in self.cells()]
        self.family = {
            scenario.name: sum(1 for one, role in roles if one is scenario and role == "variant")
            for scenario in self.scenarios
        }
        self.control_family = sum(1 for _, role in roles if role in ("negative", "control"))
        self.analyses = stopping.analyses(sampling, self.alpha, max([*self.family.values(), self.control_family]))

    def level(self, comparisons):
        """Level of one of `comparisons` comparisons at one analysis."""
        return self.alpha / max(comparisons, 1) / len(self.analyses or [None])

    def expected_sizes(self, expectation):
        """Sizes to which an expectation applies."""
        scenario = next(one for one in self.scenarios if one.name == expectation["scenario"])
        sizes = expectation.get("sizes") or {}
        at_least, below = size(sizes.get("atLeast", 0)), size(sizes.get("below", 2**63))
        return [length for length in scenario.sizes if at_least <= length < below]

    def expected_change(self, expectation):
        """Sign of an expected change, and its minimum in percent."""
        if change := expectation.get("increasePercent"):
            return 1, change.get("min", 0)
        return -1, expectation["decreasePercent"].get("min", 0)

    def comparisons(self):
        """Scenario, size, arm and metric of every comparison in the status."""
        listed = []
        for scenario, length, name in self.cells():
            expected = {
                one["metric"]
                for one in self.expectations
                if (one["scenario"], one["variant"]) == (scenario.name, name)
            }
            metrics = {scenario.primary} | expected
            listed += [(scenario.name, length, name, metric) for metric in metrics]
        return listed

    def results(self):
        """Scenario, size and arm of every result in the status."""
        names = [arm.name for arm in self.variants] + self.controls
        return [(scenario.name, length, name) for scenario in self.scenarios for length in scenario.sizes for name in names]

    def arm(self, name):
        """The variant with this name, or the baseline if the name is that of a control arm."""
        return next((one for one in self.variants if one.name == name), self.baseline)

    def control_names(self):
        """A control arm for each way in which a variant is separated from the baseline."""
        others = [arm for arm in self.variants if arm is not self.baseline]
        names = {"tuning": "control", "environment": "control-environment", "image": "control-image"}
        return [names[one] for one in sorted({self.separation(arm) for arm in others} or {"tuning"})]

    def separation(self, arm):
        if arm.image != self.baseline.image:
            return "image"
        return "tuning" if arm.process == self.baseline.process else "environment"

    def cells(self):
        """Every comparison: scenario, size and name of the arm."""
        names = [arm.name for arm in self.variants if arm is not self.baseline] + self.controls
        return [(scenario, length, name) for scenario in self.scenarios for length in scenario.sizes for name in names]

    def role(self, scenario, length, name):
        """Role of a comparison: `variant`, `not applicable`, `negative` or `control`."""
        if name in self.controls:
            return "control"
        arm = self.arm(name)
        same = arm.posting(scenario, length, self.rails) == self.baseline.posting(scenario, length, self.rails)
        if self.separation(arm) != "tuning" or not same:
            return "variant"
        return "negative" if arm.inject == self.baseline.inject else "not applicable"
