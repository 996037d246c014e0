"""Checks one arm's calls with one payload: their section, and the mean and standard deviation of all samples."""

import collections
import math

from . import histogram
from .tally import ROUNDING

# The suite's payloads, by size.
PAYLOADS = {
    8: "SmallInt",
    110: "SmallString",
    8 * 10**6: "LargeArray",
    50 * 10**6: "LargeBytes",
    4 * 10**2: "TinyTensor",
    4 * 100**2: "SmallTensor",
    4 * 512**2: "MediumTensor",
    4 * 1024**2: "LargeTensor",
    4 * 3 * 8192**2: "ImageTensor",
    4 * 40132**2: "ModelTensor",
}
# Payloads that the reply also contains.
ECHOED = (8, 110)
HOPS = {"Call": 1, "Singleton": 2, "Chain": 3}
CAUSES = {"OutOfMemory": "OutOfMemory", "DeadlineExceeded": "Timeout", "PeerLost": "Died"}


def hops(spec):
    """Number of calls in a sample."""
    pattern = spec.get("pattern", "Call")
    return HOPS[pattern] if pattern in HOPS else spec.get("depth", 3) + 1


def effective_channel(channel, length):
    """The channel that passes the payload. If the channel is shared memory, an echoed payload is part of the
    message, just like with a UNIX socket."""
    return "UnixSocket" if channel == "SharedMemory" and length in ECHOED else channel


def payload_messages(scenario, length):
    """Number of messages with a payload that the initiator posts for a sample. It posts the odd-numbered messages.
    The first half of all messages are requests, and the others are replies."""
    return sum(number <= scenario.hops or length in ECHOED for number in range(1, 2 * scenario.hops, 2))


def check(run, key, cases, valid, stored, values, tally):
    """Compares the outcome and the values of calls. `stored` is None if the status omits the result."""
    scenario = run.plan.scenario(key[0])
    if scenario.kind != "rpc" or not cases:
        tally.compare("call", f"results {key} call", stored, None)
        return
    stored, where = stored or {}, f"results {key} call."
    section, cause = classify(cases, scenario.on_gpu)
    if stored:
        tally.compare("call", f"{where}payload", stored["payload"], PAYLOADS[key[1]])
        tally.compare("call", f"{where}section", stored["section"], section)
        tally.compare("call", f"{where}cause", stored.get("cause"), cause)
        tally.compare("call", f"{where}hops", stored["hops"], scenario.hops)
    posted = [case.sides[0]["posted"] for case in valid]
    mean, deviation = moments([(one["operations"], one["call"]) for one in posted])
    # In an open loop, a sample includes the time for which it waited for others.
    reading = None if scenario.rate else clock_reading(run)
    is_below = [bool(reading) and value is not None and value < 2 * reading for value in (mean, median(valid))]
    clock = reading if any(is_below) else None
    hop = None if scenario.rate or any(is_below) else mean and mean / scenario.hops
    times = {"meanNanos": mean, "deviationNanos": deviation, "clockNanos": clock, "hopNanos": hop}
    for field, derived in times.items():
        derived = None if derived is None else math.floor(derived + 0.5)
        tally.compare("call", f"results {key} {values.name(field)}", values.get(field), derived, ROUNDING)
    grown = [growth(one["call"]) for one in posted if one["call"].get("memoryAfterBytes") is not None]
    tally.compare("call", f"results {key} callMemoryGrowthBytes", values.get("memoryGrowthBytes"), max(grown, default=None))


def median(valid):
    """The median of all samples of the valid cases."""
    buckets = collections.Counter()
    for case in valid:
        buckets.update(case.buckets)
    return histogram.quantile(buckets, 0.5)


def clock_reading(run):
    """The longest time of one reading of the clock, 0 if it is unknown. Samples contain one reading; they are below the
    clock if they leave less than another for the calls."""
    return max((hello["environment"]["clock"]["overheadNanos"] for hello in run.records.hellos.values()), default=0)


def classify(cases, on_gpu):
    """Returns the section that contains the cases, and its cause: the first failure or, if no case ran, the first skip."""
    found = [classify_case(case, on_gpu) for case in cases if not case.valid]
    failures = [one for one in found if one[0] == "Failed"]
    if failures:
        return failures[0]
    return found[0] if len(found) == len(cases) else ("Successful", None)


def classify_case(case, on_gpu):
    if case.reasons[0] == "Failed":
        reason = case.record["result"]["failed"]["reason"]
    elif case.reasons[0] == "Integrity" and case.corrupt:
        reason = case.corrupt
    else:
        return "Failed", "Invalid"
    if reason == "NotEnoughMemory":
        return "Skipped", "NotEnoughMemory"
    if on_gpu and reason in ("NoDevice", "MemoryUnavailable"):
        return "Skipped", "NoGpu"
    return "Failed", CAUSES.get(reason, "Error")


def moments(cases):
    """Mean and standard deviation of all samples, from each case's sample count, mean and standard deviation."""
    count = sum(number for number, _ in cases)
    if not count:
        return None, None
    mean = sum(number * one["meanNanos"] for number, one in cases) / count
    squares = 0.0
    for number, one in cases:
        squares += one.get("deviationNanos", 0) ** 2 * (number - 1) + number * (one["meanNanos"] - mean) ** 2
    return mean, math.sqrt(squares / (count - 1)) if count > 1 else None


def growth(call):
    return max(call["memoryAfterBytes"] - call["memoryBeforeBytes"], 0)
