"""Compares a status with the figures that are derived from the records."""

import collections
import json
import math
import statistics

from . import engagement, histogram, inference, plan, stopping, stream, traffic
from .cases import Case

# Reasons to withhold a verdict because the measurement itself cannot be used.
UNTRUSTED = ("NotMeasured", "FabricContradicted", "DifferentDevices")
HIGHER_IS_BETTER = ("Throughput", "CompletionRate")
# Both programs round to integers, and before rounding their logarithms may differ in the last bit.
TOLERANCE = 1
RATES = {"bytesPerSecond": ("Throughput", 1), "completionsPerSecond": ("CompletionRate", 1)}
MEDIANS = {**RATES, "cpuNanosPerGib": ("CpuSecondsPerGib", 1e9)}
PERCENTILES = {"p50Nanos": 0.5, "p95Nanos": 0.95, "p99Nanos": 0.99, "p999Nanos": 0.999}


class Check:
    """Differences between a stored status and the derived one."""

    def __init__(self, directory):
        run = json.loads((directory / "run.json").read_text())
        self.status = run["status"]
        self.omits = self.status.get("omittedValues") or 0
        self.omitted = 0
        self.plan = plan.Plan(run)
        self.seed = plan.seed(run)
        self.text, self.digest = stream.read(directory)
        self.agreed = collections.Counter()
        self.differences = []
        self.skipped = 0
        self.cases = []
        self.cells = {}
        self.engagements = {}
        self.pilots = collections.defaultdict(list)

    def all(self):
        """Checks every figure that this program derives."""
        blocks = stream.blocks(self.text)
        self.compare("seed", "seed", self.status.get("seed"), self.seed)
        self.compare("blocks", "progress.blocksDone", self.status["progress"]["blocksDone"], len(blocks))
        if records := self.status.get("records"):
            self.compare("digest", "records.sha256", records["sha256"], self.digest)
        self.collect(blocks)
        self.check_lists()
        for result in self.status.get("results", []):
            self.check_result(result)
        self.check_stopping()
        suspect = self.suspect()
        for comparison in self.status.get("comparisons", []):
            self.check_comparison(comparison, suspect)
        for stored in self.status.get("expectations", []):
            expectation = self.plan.expectations[stored["index"]]
            derived = self.expectation(expectation, suspect)
            self.compare("expectation", f"expectation {stored['index']}", stored["outcome"], derived)
        if self.status.get("outcome"):
            self.compare("outcome", "outcome", self.status["outcome"], self.outcome(suspect))
        if not self.skipped:
            self.check_fabric()
        if self.omitted > self.omits:
            self.differences.append(f"omittedValues: the status has {self.omits}, but {self.omitted} are missing")

    def collect(self, blocks):
        scenarios = {scenario.name: scenario for scenario in self.plan.scenarios}
        records = [record for block in blocks.values() for record in block]
        measured = [record for record in records if record["pass"] == "measure"]
        self.readings = traffic.readings(measured, scenarios)
        contradicted = traffic.contradicted(self.readings)
        for index, record in enumerate(measured):
            case = Case(record, scenarios[record["scenario"]])
            case.valid &= index not in contradicted
            self.cases.append(case)
            self.cells.setdefault((record["scenario"], record["sizeBytes"], record["arm"]), []).append(case)
        for record in records:
            scenario, length = record["scenario"], record["sizeBytes"]
            if record["pass"] == "pilot" and (pilot := record["result"].get("measured")):
                self.pilots[scenario, length].append((pilot["initiator"], pilot["target"]))

    def check_stopping(self):
        """Checks that a run with several analyses measured nothing that its stages did not need."""
        self.stopping = stopping.Stopping(self)
        if self.plan.analyses:
            measured = {(case.round, *key) for key, cases in self.cells.items() for case in cases}
            self.compare("stopping", "cells that no stage needs", sorted(measured - self.stopping.expected), [])

    def check_lists(self):
        """Checks that the status lists everything that was planned. A large status omits values."""
        if self.omits:
            return
        lists = {
            # Results whose cases all failed are listed too.
            "results": ([key for key in self.plan.results() if key in self.cells], ("scenario", "sizeBytes", "arm")),
            "comparisons": (self.plan.comparisons(), ("scenario", "sizeBytes", "arm", "metric")),
            "expectations": ([(index,) for index in range(len(self.plan.expectations))], ("index",)),
        }
        for name, (planned, fields) in lists.items():
            stored = [tuple(one[field] for field in fields) for one in self.status.get(name, [])]
            self.compare("list", name, sorted(stored), sorted(planned))

    def compare(self, kind, where, stored, derived, tolerance=0):
        if stored is None and self.omits:
            # The status of a large run omits values to stay within the size limit of an object.
            self.omitted += derived is not None
            return
        equal = stored == derived
        if not equal and tolerance and stored is not None and derived is not None:
            equal = abs(stored - derived) <= tolerance
        if equal:
            self.agreed[kind] += 1
        else:
            self.differences.append(f"{where}: the status has {stored}, derived {derived}")

    def valid(self, key):
        return [case for case in self.cells.get(key, []) if case.valid]

    def rounds(self, key, metric):
        """Median over the pairs, by round."""
        values = collections.defaultdict(list)
        for case in self.valid(key):
            values[case.round].append(case.value(metric))
        return {number: statistics.median(of_round) for number, of_round in values.items()}

    def check_result(self, result):
        key = (result["scenario"], result["sizeBytes"], result["arm"])
        where = f"results {key}"
        valid = self.valid(key)
        rounds = len({case.round for case in valid})
        # Rules that use interface counters or another pass may exclude more cases. The status gives the reason.
        if result.get("reason") and rounds != result["validRounds"]:
            self.skipped += 1
            self.cells.pop(key, None)
            return
        self.compare("rounds", f"{where} validRounds", result["validRounds"], rounds)
        if not valid or result.get("reason"):
            return
        buckets = collections.Counter()
        for case in valid:
            buckets.update(case.buckets)
        for field, fraction in PERCENTILES.items():
            count = sum(buckets.values())
            derived = histogram.quantile(buckets, fraction)
            if fraction > 0.5 and math.ceil(fraction * count) >= count:
                derived = None
            self.compare("percentile", f"{where} {field}", result.get(field), derived)
        posted = [one for case in valid for one in case.posted]
        self.check_optimizations(where, key, result, posted)
        scenario = next(one for one in self.plan.scenarios if one.name == key[0])
        iterations = scenario.pilot_iterations(self.pilots[key[:2]])
        if iterations is not None:
            self.compare("iterations", f"{where} iterations", result.get("iterations"), iterations)
            for one in posted:
                self.compare("operations", f"{where} operations", one["operations"], iterations * scenario.threads)
        self.compare("extreme", f"{where} minNanos", result.get("minNanos"), min(one["minNanos"] for one in posted))
        self.compare("extreme", f"{where} maxNanos", result.get("maxNanos"), max(one["maxNanos"] for one in posted))
        loads = collections.defaultdict(list)
        for case in valid:
            loads[case.round].append(case.cpu_percent())
        load = statistics.median(statistics.median(of_round) for of_round in loads.values())
        self.compare("median", f"{where} cpuPercent", result.get("cpuPercent"), round(load), TOLERANCE)
        for field, (metric, factor) in MEDIANS.items():
            median = statistics.median(self.rounds(key, metric).values()) * factor
            self.compare("median", f"{where} {field}", result.get(field), round(median), TOLERANCE)

    def check_optimizations(self, where, key, result, posted):
        scenario = next(one for one in self.plan.scenarios if one.name == key[0])
        arm, stated = self.plan.arm(key[2]), {}
        for one in result.get("optimizations", []):
            stated[one["optimization"]] = one["engagement"]
        derived = engagement.derive(arm, self.plan.baseline, scenario, key[1], self.plan.rails, posted)
        for name, one in derived.items():
            if one:
                self.compare("engagement", f"{where} {name}", stated.get(name), one)
        self.compare("engagement", f"{where} optimizations", sorted(stated), sorted(derived))
        self.engagements[key] = list({**stated, **{name: one for name, one in derived.items() if one}}.values())

    def last_round(self, *key):
        """Last round that is included in the results of a comparison."""
        return self.stopping.ended.get(key, (self.stopping.last, None))[0]

    def interval(self, effects, comparisons):
        """Interval of the effects at the level of one of `comparisons` comparisons; None before the first analysis."""
        if not effects or (self.plan.analyses and not self.stopping.complete):
            return None
        return inference.interval(effects, self.plan.level(comparisons))

    def effects(self, scenario, length, arm, metric, last):
        """The effect in each round up to `last`: the median, over its pairs, of the log ratio to the baseline."""
        baseline = {
            (case.round, case.pair): case for case in self.valid((scenario, length, self.plan.baseline.name))
        }
        rounds = collections.defaultdict(list)
        for case in self.valid((scenario, length, arm)):
            other = baseline.get((case.round, case.pair))
            if other and case.round <= last:
                rounds[case.round].append(math.log(case.value(metric)) - math.log(other.value(metric)))
        return [statistics.median(of_round) for of_round in rounds.values()]

    def suspect(self):
        """Scenarios and sizes at which a control shows a change."""
        found = set()
        for scenario, length, arm in self.plan.cells():
            if self.plan.role(scenario, length, arm) in ("negative", "control"):
                last = self.last_round(scenario.name, length, arm)
                effects = self.effects(scenario.name, length, arm, scenario.primary, last)
                bounds = self.interval(effects, self.plan.control_family)
                if inference.verdict(bounds, self.plan.margin, True) in ("Improved", "Regressed"):
                    found.add((scenario.name, length))
        return found

    def check_comparison(self, stored, suspect):
        scenario = next(one for one in self.plan.scenarios if one.name == stored["scenario"])
        length, arm, metric = stored["sizeBytes"], stored["arm"], stored["metric"]
        where = f"comparison ({scenario.name}, {length}, {arm}, {metric})"
        role = self.plan.role(scenario, length, arm)
        self.compare("role", f"{where} negativeControl", stored["negativeControl"], role in ("negative", "control"))
        self.compare("role", f"{where} primary", stored["primary"], metric == scenario.primary)
        names = (arm, self.plan.baseline.name)
        if any((scenario.name, length, name) not in self.cells for name in names):
            self.skipped += 1
            return
        last = self.last_round(scenario.name, length, arm)
        effects = self.effects(scenario.name, length, arm, metric, last)
        if (withheld := stored.get("withheld")) in UNTRUSTED:
            proofs = [
                result.get("fabric")
                for result in self.status["results"]
                if (result["scenario"], result["sizeBytes"]) == (scenario.name, length) and result["arm"] in names
            ]
            possible = {
                "NotMeasured": not effects,
                "FabricContradicted": "Contradicted" in proofs,
                "DifferentDevices": self.plan.separation(self.plan.arm(arm)) == "image" or arm == "control-image",
            }
            self.compare("withheld", f"{where} {withheld} possible", possible[withheld], True)
            self.skipped += 1
            return
        self.compare("rounds", f"{where} rounds", stored["rounds"], len(effects))
        ended = self.stopping.ended.get((scenario.name, length, arm))
        stated = stored.get("ended") and (stored["ended"]["rounds"], stored["ended"]["reason"])
        self.compare("end", f"{where} ended", stated, ended)
        level = self.plan.level(self.plan.family[scenario.name])
        bounds = self.interval(effects, self.plan.family[scenario.name])
        fields = {"effectPpm": inference.estimate(effects) if effects else None}
        fields["lowerPpm"], fields["upperPpm"] = bounds or (None, None)
        for field, log_ratio in fields.items():
            derived = None if log_ratio is None else round(inference.percent(log_ratio) * 1e4)
            self.compare("effect", f"{where} {field}", stored.get(field), derived, TOLERANCE)
        if bounds:
            detectable = inference.detectable(bounds, len(effects), level, self.plan.margin)
            derived = round(detectable * 1e4)
            # Both programs approximate the quantiles of the normal distribution.
            self.compare(
                "detectable", f"{where} minimumDetectablePpm", stored.get("minimumDetectablePpm"), derived, 2 + derived / 1e6
            )
        awaits_analysis = self.plan.analyses and not self.stopping.complete
        if stored.get("verdict") == "Inconclusive" and effects and not awaits_analysis:
            settled = inference.rounds_to_settle(effects, bounds, level, self.plan.margin)
            self.compare("rounds to settle", f"{where} roundsToSettle", stored.get("roundsToSettle"), settled)
        self.check_verdict(where, stored, role, bounds, suspect)

    def check_verdict(self, where, stored, role, bounds, suspect):
        """Compares the verdict, and the reason why it is withheld."""
        withheld, verdict = self.reason_to_withhold(stored, role, suspect), None
        if role == "variant" and stored["primary"] and not withheld:
            verdict = inference.verdict(bounds, self.plan.margin, stored["metric"] in HIGHER_IS_BETTER)
        self.compare("verdict", f"{where} verdict", stored.get("verdict"), verdict)
        self.compare("verdict", f"{where} withheld", stored.get("withheld"), withheld)

    def reason_to_withhold(self, stored, role, suspect):
        length, arm = stored["sizeBytes"], stored["arm"]
        if (stored["scenario"], length) in suspect:
            return "ControlViolated"
        engaged = self.engagements.get((stored["scenario"], length, arm), [])
        if "NotEngaged" in engaged:
            return "NotEngaged"
        if role == "not applicable":
            return "NotApplicable"
        same = self.plan.separation(self.plan.arm(arm)) == "tuning" and self.same_chunks(arm, length)
        unused = bool(engaged) and all(one == "NotApplicable" for one in engaged)
        return "NotApplicable" if role == "variant" and same and unused else None

    def same_chunks(self, arm, length):
        arms = (self.plan.arm(arm), self.plan.baseline)
        chunks = [one.stripes(length, self.plan.rails)[:2] for one in arms]
        return chunks[0] == chunks[1]

    def expectation(self, expectation, suspect):
        """Outcome of an expectation over its sizes."""
        scenario = next(one for one in self.plan.scenarios if one.name == expectation["scenario"])
        lengths = self.plan.expected_sizes(expectation)
        outcomes = {self.expectation_at(scenario, length, expectation, suspect) for length in lengths}
        return next((one for one in ("NotMet", "Inconclusive") if one in outcomes), "Met")

    def expectation_at(self, scenario, length, expectation, suspect):
        arm, metric = expectation["variant"], expectation["metric"]
        comparison = {"scenario": scenario.name, "sizeBytes": length, "arm": arm, "metric": metric}
        stored = [one for one in self.status["comparisons"] if comparison.items() <= one.items()]
        role = self.plan.role(scenario, length, arm)
        effects = self.effects(scenario.name, length, arm, metric, self.last_round(scenario.name, length, arm))
        if any(one.get("withheld") in UNTRUSTED for one in stored) or not effects:
            return "Inconclusive"
        if self.reason_to_withhold(comparison, role, suspect) not in (None, "NotApplicable"):
            return "Inconclusive"
        bounds = self.interval(effects, self.plan.family[scenario.name])
        return inference.expectation(bounds, *self.plan.expected_change(expectation), self.plan.margin)

    def outcome(self, suspect):
        """Outcome of a finished run, from its status and the result of `self.suspect()`."""
        progress, comparisons = self.status["progress"], self.status.get("comparisons", [])
        if (
            progress["blocksDone"] < progress["blocksTotal"]
            or any(not result["validRounds"] for result in self.status["results"])
            or (self.status.get("fabric") or {}).get("proof") == "Contradicted"
            or any(one["primary"] and one.get("withheld") in UNTRUSTED for one in comparisons)
        ):
            return "Untrusted"
        if suspect:
            return "Suspect"
        missed = any(one["outcome"] == "NotMet" for one in self.status.get("expectations", []))
        return "Missed" if missed or any(one.get("verdict") == "Regressed" for one in comparisons) else "Passed"

    def check_fabric(self):
        """Compares the bytes that the interfaces counted. Only possible if this program knows which cases are valid."""
        if fabric := self.status.get("fabric"):
            valid = {index for index, case in enumerate(self.cases) if case.valid}
            counted, payload = traffic.totals(self.readings, valid)
            self.compare("fabric", "fabric.countedBytes", fabric.get("countedBytes"), counted)
            self.compare("fabric", "fabric.payloadBytes", fabric["payloadBytes"], payload)
