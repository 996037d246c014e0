"""Decides whether the bytes that a command reports used the requested fabric."""

from . import log_lines
from .endpoints import is_requested
from .traffic import COVERAGE, counted, is_looped_back

# Tools whose library logs the data path in round 0.
LOGGED = ("UcxPerftest", "Nixlbench", "NcclTests")


def proof(case, cases, checks, records, endpoints, transport):
    """The proof of a measured case. `checks` are the cases of the integrity pass, in which the command logs its path."""
    facts = [endpoints.of_case(case, rank) for rank in case.pair]
    report = (case.sides[0].get("posted") or {}).get("command") or {}
    logs = [one.record["result"].get("checked", {}).get("command") for one in checks if is_same(one, case)]
    logs = [log for log in logs if log is not None]
    if not all(is_requested(one, transport) for one in facts if one):
        return "Contradicted"
    if log_lines.contradict(report, logs, case.key[1], transport):
        return "Contradicted"
    interfaces = [side.get("interfaces") or [] for side in case.sides]
    payload = report.get("payloadBytes")
    if payload is None or not any(interfaces) or is_looped_back(case, records):
        return "Declared"
    if min(largest(one) for one in interfaces if one) < payload * COVERAGE:
        return "Contradicted"
    if any(is_concurrent(case, other, records) for other in cases):
        return "Declared"
    scenario = case.scenario
    return "Declared" if scenario.integrity and scenario.tool in LOGGED and not logs else "Verified"


def is_same(check, case):
    return (check.key, check.pair) == (case.key, case.pair)


def largest(interfaces):
    """Bytes that the interfaces on one side sent or received, whichever is greater."""
    return max(map(sum, zip(*map(counted, interfaces), strict=True)))


def is_concurrent(case, other, records):
    """Whether another pair ran a command on the same host concurrently."""
    same = (other.record["block"], other.key[2], other.stream) == (case.record["block"], case.key[2], case.stream)
    if not same or not other.measured or other.pair == case.pair or hosts(case, records).isdisjoint(hosts(other, records)):
        return False
    return case.record["startedNanos"] < end(other) and other.record["startedNanos"] < end(case)


def end(case):
    return case.record["startedNanos"] + max(side["windowNanos"] for side in case.sides)


def hosts(case, records):
    return {records.host(case.stream, rank) for rank in case.pair}
