"""Checks the sentence that answers what the run was asked: `status.verdict`."""

import re

from . import inference, progress
from .quantities import size

METRICS = {
    "LatencyP50": "latency p50",
    "LatencyP95": "latency p95",
    "LatencyP99": "latency p99",
    "LatencyP999": "latency p99.9",
    "Throughput": "throughput",
    "CompletionRate": "completion rate",
    "CpuSecondsPerGib": "CPU seconds per GiB",
    "MemoryPerConsumer": "memory per consumer",
    "ReportedLatency": "reported latency",
    "ReportedBandwidth": "reported bandwidth",
}
DECIDED = {"improved": "Improved", "regressed": "Regressed"}
UNDECIDED = {"no change": "NoChange", "inconclusive": "Inconclusive", "no verdict": None}
# A change with its interval, at a size of a scenario, and the number of sizes with the same verdict.
CHANGE = re.compile(
    r"(?P<metric>\D.*?) (?P<effect>x [\d.]+|[+-][\d.]+ %) \[(?P<lower>\S+), (?P<upper>\S+)\] at "
    r"(?P<size>\d+ (?:[KMG]i)?B)(?: in (?P<scenario>\S+))?, (?P<verdict>\w+) (?P<count>\d+) of (?P<total>\d+)"
)
# A change may be called the greatest if another one is greater only by a rounding error.
SLACK = 1e-9


def check(run, text, found, tally):
    """Compares the sentence with the comparisons `found`. A sentence that was cut ends in an ellipsis."""
    blocks = progress.derive(run)
    is_incomplete = blocks["blocksDone"] < blocks["blocksTotal"]
    if not text.startswith("nothing was measured: "):
        tally.compare("answer", "incomplete", text.startswith("incomplete: "), is_incomplete)
    text = text.removeprefix("incomplete: ").removeprefix("noisy: ")
    names = [arm.name for arm in run.plan.variants if arm is not run.plan.baseline]
    is_cut = text.endswith("…")
    if text.startswith("nothing was measured: "):
        tally.compare("answer", "verdict", any(run.valid(key) for key in run.plan.cells()), False)
        return
    if not names:
        tally.compare("answer", "verdict", text, "nothing to compare: only the baseline was measured")
        return
    statements = text.split("; ")
    if is_cut:
        statements.pop()
        names = names[: len(statements)]
    tally.compare("answer", "variants in verdict", [one.split(" ", 1)[0] for one in statements], names)
    for name, statement in zip(names, statements):
        compared = [one for one in found.values() if one.primary and one.role == "variant" and one.key[2] == name]
        check_arm(run, name, statement.partition(" ")[2], compared, tally)


def check_arm(run, name, statement, compared, tally):
    """Compares what the sentence says about one variant."""
    where, total = f"verdict of {name}", len(compared)
    decided = [(label, one) for label, one in DECIDED.items() if any(each.verdict == one for each in compared)]
    if not total:
        expected = "not applicable"
    elif decided:
        changes = [CHANGE.fullmatch(one) for one in re.split(r"(?<=\d) and ", statement)]
        said = [change and change["verdict"] for change in changes]
        tally.compare("answer", f"{where}: directions", said, [label for label, _ in decided])
        if said == [label for label, _ in decided]:
            for change, (_, verdict) in zip(changes, decided):
                check_change(run, where, change, [one for one in compared if one.verdict == verdict], total, tally)
        return
    else:
        counts = {label: sum(one.verdict == verdict for one in compared) for label, verdict in UNDECIDED.items()}
        expected = ", ".join(f"{label} in {count}" for label, count in counts.items() if count) + f" of {total}"
    tally.compare("answer", where, statement, expected)


def check_change(run, where, change, alike, total, tally):
    """Compares the greatest change among the comparisons with the same verdict."""
    tally.compare("answer", f"{where}: counts", (int(change["count"]), int(change["total"])), (len(alike), total))
    scenarios = [one.name for one in run.plan.scenarios]
    scenario = change["scenario"] or (scenarios[0] if len(scenarios) == 1 else None)
    key = (scenario, size(change["size"].removesuffix("B").replace(" ", "")))
    named = next((one for one in alike if one.key[:2] == key), None)
    tally.compare("answer", f"{where}: the size has this verdict", named is not None, True)
    if named is None:
        return
    tally.compare("answer", f"{where}: metric", change["metric"], METRICS[named.metric])
    effects = [abs(inference.estimate(one.effects.printed)) for one in alike]
    greatest = abs(inference.estimate(named.effects.printed))
    tally.compare("answer", f"{where}: greatest change", greatest >= max(effects) - SLACK, True)
    derived = [inference.estimate(named.effects.printed), *named.bounds]
    is_factor = change["effect"].startswith("x ")
    percents = [inference.percent(one) for one in derived]
    wanted = [1 + one / 100 for one in percents] if is_factor else percents
    for field, value in zip(("effect", "lower", "upper"), wanted):
        printed = change[field].removeprefix("x ").removesuffix(" %")
        decimals = len(printed.partition(".")[2])
        tally.compare("answer", f"{where}: {field}", float(printed), value, 0.51 / 10**decimals)
    tally.compare("answer", f"{where}: is a factor", is_factor, not -90 < percents[0] < 900)
