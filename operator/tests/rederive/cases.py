"""Metrics of one case, and whether the case is valid."""

from . import histogram

GIB = 2**30
QUANTILES = {"LatencyP50": 0.5, "LatencyP95": 0.95, "LatencyP99": 0.99, "LatencyP99_9": 0.999}
SHORT_WINDOW = 10_000_000


class Case:
    """A measured case."""

    def __init__(self, record, scenario):
        self.round = record["round"]
        self.pair = (record["initiator"], record["target"])
        measured = record["result"].get("measured")
        self.valid = measured is not None
        if not measured:
            return
        self.sides = [measured["initiator"], measured["target"]]
        posting = self.sides if scenario.both_post else self.sides[:1]
        self.posted = [side["posted"] for side in posting if side.get("posted")]
        self.buckets = {}
        decoded = [histogram.decode(one["latency"], one["maxNanos"]) for one in self.posted]
        for buckets in decoded:
            for value, count in buckets.items():
                self.buckets[value] = self.buckets.get(value, 0) + count
        self.valid = bool(self.posted) and all(self.sound(side, scenario) for side in posting) and not any(
            side.get("throttledNanos") or side.get("migrations") or side.get("governorChanged") for side in self.sides
        )

    def sound(self, side, scenario):
        """Whether the elapsed time fits in the window, is not far shorter, and is as long as the latencies require."""
        posted = side.get("posted")
        if not posted or not posted["operations"] or not posted["elapsedNanos"] or not posted["payloadBytes"]:
            return False
        elapsed, window = posted["elapsedNanos"], side["windowNanos"]
        buckets = histogram.decode(posted["latency"], posted["maxNanos"])
        total = sum(value * count for value, count in buckets.items())
        short = window > SHORT_WINDOW and elapsed < window * 0.01
        return elapsed <= window and elapsed >= total / scenario.in_flight / 1.02 and not short

    def cpu_percent(self):
        """CPU time of both workers, each divided by its window, in percent."""
        return sum(100 * side["cpuNanos"] / side["windowNanos"] for side in self.sides)

    def value(self, metric):
        """Value of a metric: nanoseconds, bytes or operations per second, or CPU seconds per GiB."""
        if metric in QUANTILES:
            return float(histogram.quantile(self.buckets, QUANTILES[metric]))
        if metric == "CpuSecondsPerGib":
            payload = sum(one["payloadBytes"] for one in self.posted)
            return sum(side["cpuNanos"] for side in self.sides) / 1e9 * GIB / payload
        field = {"Throughput": "payloadBytes", "CompletionRate": "operations"}[metric]
        return sum(one[field] / (one["elapsedNanos"] / 1e9) for one in self.posted)
