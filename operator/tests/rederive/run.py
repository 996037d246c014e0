"""A run: its plan, its records, and the values derived from them."""

import collections
import functools
import json
import math
import statistics

from . import commands, engagement, flows, proof, stream, traffic, validity
from .cases import Case
from .endpoints import Endpoints
from .plan import Plan
from .protocols import Protocols
from .stopping import Stopping


@functools.lru_cache(maxsize=2)
def derive(manifest, plan_hash, text):
    """The run with this manifest (JSON without the status), plan hash and record text. The result is cached, because many
    statuses of one run may be checked, so callers must not modify it."""
    return Run(json.loads(manifest), plan_hash, text)


def of_stored(stored, text):
    """The run in `run.json`, with its record text."""
    manifest = {name: value for name, value in stored.items() if name != "status"}
    return derive(json.dumps(manifest), stored["status"].get("planHash"), text)


class Run:
    """A run's cases and their validity. A cell key consists of a scenario, a size and an arm name."""

    def __init__(self, manifest, plan_hash, text):
        self.plan = Plan(manifest)
        self.records = stream.Records(text, manifest["metadata"]["uid"], plan_hash)
        self.endpoints = Endpoints(self.records, self.plan.names())
        self.protocols = Protocols(self.records)
        self.cases, self.pilots = self.of_pass("measure"), self.of_pass("pilot")
        self.cells = collections.defaultdict(list)
        for case in self.cases:
            self.cells[case.key].append(case)
        counted = [case for case in self.cases if not case.scenario.is_command]
        on_fabric = [case for case in counted if not self.plan.is_off_fabric(case.key)]
        self.coordinated = traffic.Coordinated(self.cases, self.records)
        self.readings = traffic.readings(on_fabric, self.records, self.coordinated)
        self.check_cases()
        self.stopping = Stopping(self)

    def of_pass(self, purpose):
        """The cases of a pass."""

        def case(record):
            scenario, length, arm = record["scenario"], record["sizeBytes"], record["arm"]
            return Case(record, self.plan.scenario(scenario), self.plan.moves_payload(scenario, length, arm))

        return [case(record) for record in self.records.cases(purpose)]

    def check_cases(self):
        """Determines every case's proof and validity."""
        of_case = collections.defaultdict(list)
        for reading in self.readings:
            for case in reading.cases:
                of_case[case].append(reading)
        checks = self.of_pass("integrity")
        corrupt = {
            case.key: case.record["result"].get("failed", {}).get("reason")
            for case in checks
            if not case.scenario.is_command and validity.is_corrupt(case.record["result"])
        }
        failed = set()
        for case in self.cases:
            if not case.measured:
                failed |= proof.places(case, self.records)
        for case in self.cases:
            case.beside_failed = not failed.isdisjoint(proof.places(case, self.records))
            if not case.measured or case.beside_failed:
                continue
            if case.scenario.is_command:
                if not any(commands.is_concurrent(case, other, self.records) for other in self.cases):
                    case.foreign = commands.foreign(case, self.records, self.coordinated)
            elif of_case[case]:
                case.foreign = max(reading.foreign() for reading in of_case[case])
        for case in self.cases:
            off_fabric = self.plan.is_off_fabric(case.key)
            case.corrupt = corrupt.get(case.key)
            if case.measured and not off_fabric:
                transport = self.plan.arm(case.key[2]).transport
                if case.scenario.is_command:
                    case.proof = commands.proof(case, self.cases, checks, self, transport)
                else:
                    case.proof = proof.of_case(case, of_case[case], self.records, self.endpoints, transport)
                if case.proof == "Shared" and case.beside_failed:
                    case.proof = "Declared"
                if self.protocols.excluded(case.key[2], transport):
                    case.proof = "Contradicted"
            case.reasons = list(validity.reasons(case, self.endpoints, corrupt, off_fabric))
            if self.plan.many_to_many and case.measured and not flows.is_simultaneous(case):
                case.reasons.append("NotSimultaneous")
        if self.plan.many_to_many:
            flows.check_line_rates(self.cases, self.endpoints)
            flows.invalidate_others(self.cases)

    def protocols_of(self, key):
        """For each operation of a cell, the protocols that the library used, and whether they cover all of its chunks."""
        number, length, name = key
        arm, scenario = self.plan.arm(name), self.plan.scenario(number)
        operations = [scenario.operation] + ["Read"] * scenario.reads_back
        if scenario.second_memory or any(other.is_mixed for other in self.plan.scenarios):
            # The protocols do not name the kind of the remote memory, so they could belong to another scenario. With two
            # kinds of memory in a segment, different protocols serve the same operation.
            return {one: ([], False) for one in operations}
        chunks = arm.stripes(length, self.plan.rails)[1:]
        return {one: self.protocols.of_cell(name, one, chunks, arm.transport, scenario.on_gpu) for one in operations}

    def measured(self, key, last=math.inf):
        """The cases of a cell up to a round, including those that failed."""
        return [case for case in self.cells.get(key, []) if case.round <= last]

    def valid(self, key, last=math.inf):
        """The valid cases of a cell up to a round."""
        return [case for case in self.measured(key, last) if case.valid]

    def units(self, key, last=math.inf):
        """The valid cases of a cell up to a round, with all flows of a round combined into one case."""
        valid = self.valid(key, last)
        return flows.combine(valid) if self.plan.many_to_many else valid

    def is_below_resolution(self, key, metric):
        """Whether a valid case of a cell has a value below the resolution of its tool, so that the cell has no median."""
        return any(case.is_below_resolution(metric) for case in self.units(key))

    def by_round(self, key, value):
        """For each round, the median over its pairs of `value`, which is a function of a case."""
        values = collections.defaultdict(list)
        for case in self.units(key):
            if (found := value(case)) is not None:
                values[case.round].append(found)
        return {number: statistics.median(of_round) for number, of_round in values.items()}

    def median(self, key, value):
        """The median over the rounds of the values from `by_round`; None if there are no values."""
        rounds = self.by_round(key, value)
        return statistics.median(rounds.values()) if rounds else None

    def engagements(self, key, last=math.inf):
        """The engagement of each optimization that a cell's arm requests."""
        scenario, length, arm = key
        cases = self.valid(key, last)
        return engagement.derive(self.plan.arm(arm), self.plan, self.plan.scenario(scenario), length, cases)

    def ratios(self, key, metric, last):
        """For each round up to `last`, the bounds of the values of the arm and of the baseline in each pair."""
        baseline = {
            (case.round, case.pair): case.bounds(metric) for case in self.units(self.plan.baseline_of(key), last)
        }
        rounds = collections.defaultdict(list)
        for case in self.units(key, last):
            both = case.bounds(metric), baseline.get((case.round, case.pair))
            if None not in both:
                rounds[case.round].append(both)
        return [rounds[number] for number in sorted(rounds)]

    def effects(self, key, metric, last):
        """The effects of the rounds up to `last`."""
        return Effects(self.ratios(key, metric, last))


class Effects:
    """The effect of each round, the median over its pairs of the log ratio to the baseline: of the printed values, and its
    lower and upper bound. If a value is below its tool's resolution, there is no effect."""

    def __init__(self, rounds):
        self.rounds = len(rounds)
        self.below = sum(any(own[1] <= 0 or base[1] <= 0 for own, base in pairs) for pairs in rounds)
        rounds = [] if self.below else rounds
        self.printed = [median_ratio(pairs, 0, 0) for pairs in rounds]
        self.lower = [median_ratio(pairs, 1, 2) for pairs in rounds]
        self.upper = [median_ratio(pairs, 2, 1) for pairs in rounds]
        self.is_exact = self.lower == self.printed == self.upper


def median_ratio(pairs, of_arm, of_baseline):
    return statistics.median(math.log(own[of_arm]) - math.log(base[of_baseline]) for own, base in pairs)
