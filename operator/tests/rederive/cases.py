"""Values of one case."""

import functools
import math

from . import histogram

GIB = 2**30
QUANTILES = {"LatencyP50": 0.5, "LatencyP95": 0.95, "LatencyP99": 0.99, "LatencyP99_9": 0.999}

# Fields in a command's report: the value, and the range in which it was before printing.
REPORTED = {"ReportedLatency": ("latencyNanos", "latencyRange"), "ReportedBandwidth": ("bytesPerSecond", "bandwidthRange")}

# Metrics that have no value if no bytes are moved, and those that depend on the measured window.
PER_BYTE = ("Throughput", "CpuSecondsPerGib")
OF_WINDOW = (*PER_BYTE, "CompletionRate")


def samples(posted):
    """The number of samples in each histogram bucket of a posting worker."""
    return histogram.decode(posted["latency"], posted["maxNanos"])


def measured_window(posted):
    """The values from which rates are computed: `operations`, `payloadBytes` and `elapsedNanos` of a posting worker or,
    for a flow, of the window in which all flows are active. The directions of a bidirectional closed loop are also
    flows."""
    return posted.get("simultaneous") or posted


class Case:
    """A case of one worker pair. Its validity is determined later."""

    def __init__(self, record, scenario, moves_payload=True):
        self.record = record
        self.scenario = scenario
        self.moves_payload = moves_payload
        self.key = (record["scenario"], record["sizeBytes"], record["arm"])
        self.round = record["round"]
        self.restart = record.get("restart", 0)
        self.stream = record["stream"]
        self.pair = (record["initiator"], record["target"])
        self.measured = record["result"].get("measured")
        self.reasons = []
        # Why the integrity case of this cell failed; None if the case found wrong bytes or passed.
        self.corrupt = None
        self.proof = None
        # Bytes of other traffic on the interfaces; None if they are unknown.
        self.foreign = None
        # Whether a case without measurements used the same host in the same block and arm.
        self.beside_failed = False
        self.sides = [self.measured["initiator"], self.measured["target"]] if self.measured else []
        self.posting = self.sides if scenario.both_post else self.sides[:1]
        if scenario.mode:
            # In parameter serving, an operation is a worker's use of a version, and the workers are on the target side.
            self.posting = self.sides[1:]
        self.posted = [side["posted"] for side in self.posting if side.get("posted")]

    @property
    def valid(self):
        """Whether no reason for invalidity was found."""
        return not self.reasons

    @functools.cached_property
    def buckets(self):
        """The merged histograms of the posting workers."""
        merged = {}
        for one in self.posted:
            for value, count in samples(one).items():
                merged[value] = merged.get(value, 0) + count
        return merged

    def iterations(self):
        """Operations per thread, if they are the same for all posting workers and threads."""
        if self.scenario.mode or self.scenario.is_command:
            return None
        threads, counts = self.scenario.threads, {measured_window(one)["operations"] for one in self.posted}
        count = counts.pop() if len(counts) == 1 else None
        return None if count is None or count % threads else count // threads

    def cpu_percent(self):
        """CPU time of both workers, each divided by its window, as a percentage; None without a window, for commands,
        whose processes are not measured, and for footprints, whose windows contain more than operations."""
        if self.scenario.is_command or self.scenario.kind == "footprint" or not all(side["windowNanos"] for side in self.sides):
            return None
        return sum(100 * side["cpuNanos"] / side["windowNanos"] for side in self.sides)

    def value(self, metric):
        """Nanoseconds, bytes or operations per second, or CPU seconds per GiB; None unless finite and above 0."""
        try:
            value = self.raw_value(metric)
        except ZeroDivisionError:
            return None
        return value if math.isfinite(value) and value > 0 else None

    def bounds(self, metric):
        """The value with the least and the greatest true value; (0, 0, greatest) if the tool printed 0. None without a
        value."""
        value, known = self.value(metric), None
        if self.scenario.is_command and metric in REPORTED:
            report = (self.posted[0] if self.posted else {}).get("command") or {}
            known = report.get(REPORTED[metric][1])
        if known is None:
            return None if value is None else (value, value, value)
        return (value or 0, min(known["least"], value or 0), max(known["most"], value or 0))

    def is_below_resolution(self, metric):
        """Whether the tool printed 0, or the true value may be 0."""
        bounds = self.bounds(metric)
        return bounds is not None and bounds[1] <= 0

    def raw_value(self, metric):
        if self.scenario.is_command or metric in REPORTED:
            report = (self.posted[0] if self.posted else {}).get("command") or {}
            value = report.get(REPORTED.get(metric, ("",))[0])
            return math.nan if value is None else value
        if metric in PER_BYTE and not self.moves_payload:
            return math.nan
        if metric in OF_WINDOW and self.scenario.kind == "footprint":
            return math.nan
        if metric in QUANTILES:
            return float(histogram.quantile(self.buckets, QUANTILES[metric]))
        if metric == "MemoryPerConsumer":
            memory = (self.posted[0] if self.posted else {}).get("footprint")
            return memory["consumersPssBytes"] / memory["consumers"] if memory else math.nan
        if metric == "CpuSecondsPerGib":
            payload = sum(one["payloadBytes"] for one in self.posted)
            return sum(side["cpuNanos"] for side in self.sides) / 1e9 * GIB / payload
        field = {"Throughput": "payloadBytes", "CompletionRate": "operations"}[metric]
        rates = [one["simultaneous"] for one in self.posted if one.get("simultaneous")]
        alone = [one for one in self.posted if not one.get("simultaneous")]
        rate = sum(one[field] / (one["elapsedNanos"] / 1e9) for one in rates)
        if alone:
            rate += sum(one[field] for one in alone) / (max(one["elapsedNanos"] for one in alone) / 1e9)
        return rate
