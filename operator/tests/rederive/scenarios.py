"""Scenarios in the spec, each with its workload."""

import math

from .quantities import nanos, size
from .workloads import workload

DEFAULT_ITERATIONS = 1000
MAX_ITERATIONS = 10_000_000


class Scenario:
    """A scenario with its workload."""

    def __init__(self, spec, sampling, deadline, receivers):
        self.name = spec["name"]
        # The name in the spec if this is one rate of a sweep.
        self.sweep = spec.get("sweep")
        self.deadline = deadline
        self.kind, work, default = workload(spec, receivers)
        self.sizes = [size(one) for one in work["sizes"]]
        self.operation = work.get("operation", "Send" if self.kind == "pingPong" else "Write")
        self.batch = 1 if self.kind == "pingPong" else work.get("batch", 1)
        self.in_flight = 0.5 if self.kind == "pingPong" else work.get("window", 1) * work.get("threads", 1)
        self.rate = (work.get("load") or {}).get("openLoop", {}).get("rate")
        if work.get("load"):
            # Latencies are measured from the intended start, before a transfer is in flight, so any number may overlap.
            self.in_flight = math.inf
        self.mode = work.get("mode")
        if self.mode:
            # Latencies are measured from the publication, and several workers use a version, so any number may overlap.
            self.in_flight = math.inf
        # Number of calls in a sample.
        self.hops = work.get("hops")
        # Number of processes that receive a tensor.
        self.consumers = work.get("consumers")
        self.uses_channels = self.kind in ("rpc", "footprint")
        self.is_command = self.kind == "command"
        self.tool = work.get("tool")
        self.threads = work.get("threads", 1)
        # Number of pods that run a trainer's workers.
        self.receivers = work.get("receivers", 1)
        self.on_gpu = spec.get("memory") == "Cuda"
        self.is_mixed = spec.get("targetMemory", spec.get("memory", "Heap")) != spec.get("memory", "Heap")
        # Kind of memory of the last half of the threads.
        self.second_memory = work.get("secondMemory")
        self.uses_gpu = "Cuda" in (spec.get("memory"), spec.get("targetMemory"), self.second_memory)
        self.integrity = spec.get("integrity", True) and not self.mode
        # Flows in the ManyToMany pattern always have a duration.
        self.timed = bool(work.get("duration")) or receivers is not None
        self.iterations = work.get("iterations", DEFAULT_ITERATIONS)
        self.min_window = nanos(sampling.get("minWindow", "20ms"))
        self.counts = {size(one["size"]): one["iterations"] for one in spec.get("operationCounts") or []}
        self.has_pilot = bool(self.min_window) and not self.timed and not self.counts and not (self.uses_channels or self.is_command)
        self.both_post = self.kind == "transfer" and work.get("direction") == "Bidirectional"
        # Whether every batch of writes is followed by reads of the same memory.
        self.reads_back = bool(work.get("readBack"))
        # A command must name its metric.
        self.primary = spec.get("primaryMetric") or default

    def planned_iterations(self, length, pilots):
        """Operations per thread; None for a command, and if the scenario has a duration. If the spec does not set the
        number, it is chosen so that the fastest side of the pilot cases would fill 1.25 times the minimum window, but
        the slowest side would not take longer than a quarter of the case deadline."""
        if self.is_command:
            return None
        if self.timed or self.counts:
            return self.counts.get(length)
        posted = [one for case in pilots for one in case.posted if one["operations"] and one["elapsedNanos"]]
        if not self.has_pilot or not posted:
            return self.iterations
        elapsed = [(one["operations"], one["elapsedNanos"] * 4 * self.threads) for one in posted]
        needed = max(-(-self.min_window * 5 * done // time) for done, time in elapsed)
        allowed = min(self.deadline * 10**9 * done // time for done, time in elapsed)
        return min(max(min(needed, allowed), self.iterations), MAX_ITERATIONS)
