"""Compares a run's status with the values derived from its records."""

import json

from . import answer, comparisons, consistency, deviations, factors, outcome, plan, progress, proof, results, stream, sweeps, traffic
from . import run as runs
from .tally import Tally


def check(directory):
    """Checks the run in a directory."""
    stored = json.loads((directory / "run.json").read_text())
    status = stored["status"]
    text, digest = stream.read(directory)
    tally = Tally(bool(status.get("omittedValues")))
    if status.get("state") in ("Pending", "Running"):
        # The command was killed before it could update the status, so the status is older than the records.
        tally.skipped["unfinished"] += 1
        return tally
    run = runs.of_stored(stored, text)
    tally.compare("seed", "seed", status.get("seed"), plan.seed(stored))
    if records := status.get("records"):
        tally.compare("digest", "records.sha256", records["sha256"], digest)
    check_progress(run, status["progress"], tally)
    check_results(run, status, tally)
    sweeps.check(run, status, items, tally)
    check_comparisons(run, status, tally)
    factors.check(run, status, tally)
    deviations.check(run, status, tally)
    check_fabric(run, status.get("fabric"), tally)
    for case in run.cases:
        if case.valid:
            consistency.check(case, run.plan.is_off_fabric(case.key), tally)
    if tally.omits:
        tally.compare("omitted", "omittedValues", status["omittedValues"], tally.skipped["omitted"])
    return tally


def check_progress(run, stored, tally):
    """Compares the number of blocks. A run with several analyses must measure only what its stages need."""
    for field, derived in progress.derive(run).items():
        tally.compare("progress", f"progress.{field}", stored.get(field), derived)
    if run.plan.analyses:
        measured = {(case.round, *case.key) for case in run.cases}
        tally.compare("stopping", "cells that no stage needs", sorted(measured - run.stopping.expected), [])


def check_results(run, status, tally):
    """Compares the results of all arms, and the nodes."""
    derived = [key for key in run.plan.cells() if key in run.cells]
    for key, one in items(status, "results", ("scenario", "sizeBytes", "arm"), derived, tally):
        results.check(run, key, one, tally)
    check_placement(run.records, status, tally)


def check_placement(records, status, tally):
    """Compares the nodes, sorted by name. In a cluster, the status lists the nodes of the first attempt
    whose nodes were known."""
    stored, derived = (status.get("placement") or {}).get("nodes"), records.nodes()
    if status.get("execution"):
        of_attempts = [sorted(records.nodes(stream)) for stream in {key[:2] for key in records.hellos}]
        derived = stored if stored in of_attempts else of_attempts
    tally.compare("nodes", "placement.nodes", stored, derived)


def check_comparisons(run, status, tally):
    """Checks the comparisons, the expectations and the outcome."""
    found = comparisons.derive(run)
    fields = ("scenario", "sizeBytes", "arm", "metric")
    for key, one in items(status, "comparisons", fields, found, tally):
        comparisons.check(found[key], one, tally)
    text = status.get("verdict") or ""
    if text:
        is_noisy = text.removeprefix("incomplete: ").startswith("noisy: ")
        tally.compare("noisy", "verdict", is_noisy, bool(comparisons.noisy_controls(run)))
        answer.check(run, text, found, tally)
    expected = [(index,) for index in range(len(run.plan.expectations))]
    met = []
    for (index,), one in items(status, "expectations", ("index",), expected, tally):
        met.append(comparisons.expectation(run.plan, run.plan.expectations[index], found))
        tally.compare("expectation", f"expectation {index}", one["outcome"], met[-1])
    is_finished = status.get("state") in ("Complete", "Failed")
    derived = outcome.derive(run, found.values(), met) if is_finished else None
    tally.compare("outcome", "outcome", status.get("outcome"), derived)


def items(status, name, fields, derived, tally):
    """Pairs each derived key with its item in a status list, or with {} if a large status omits the item."""
    stored = {tuple(one[field] for field in fields): one for one in status.get(name, [])}
    missing = [] if tally.omits else sorted(set(derived) - set(stored))
    tally.compare("list", f"{name} that are missing", missing, [])
    tally.compare("list", f"{name} that were not planned", sorted(set(stored) - set(derived)), [])
    tally.compare("list", f"{name} that are repeated", len(status.get(name, [])), len(stored))
    return [(key, stored.get(key, {})) for key in derived if key in stored or tally.omits]


def check_fabric(run, stored, tally):
    """Compares the proof, the provider and the interface byte counts."""
    weakest = proof.weakest(run.cases)
    tally.compare("proof", "fabric.proof", (stored or {}).get("proof"), weakest)
    if stored and weakest:
        counted, payload, foreign = traffic.totals(run.readings)
        tally.compare("proof", "fabric.provider", stored["provider"], run.endpoints.providers())
        tally.compare("fabric", "fabric.countedBytes", stored.get("countedBytes"), counted)
        tally.compare("fabric", "fabric.payloadBytes", stored["payloadBytes"], payload)
        tally.compare("fabric", "fabric.foreignBytes", stored.get("foreignBytes"), foreign)
