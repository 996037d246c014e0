"""Decides whether the bytes that a command reports used the requested fabric."""

import dataclasses

from . import allowance, log_lines
from .endpoints import is_requested
from .traffic import COVERAGE, counted, is_looped_back

# Tools whose library logs the data path in round 0.
LOGGED = ("UcxPerftest", "Nixlbench", "NcclTests")


def proof(case, cases, checks, run, transport):
    """The proof of a measured case. `checks` are the cases of the integrity pass, in which the command logs its path."""
    records = run.records
    facts = [run.endpoints.of_case(case, rank) for rank in case.pair]
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
    if scenario.integrity and scenario.tool in LOGGED and not logs:
        return "Declared"
    return "Shared" if foreign(case, records, run.coordinated) else "Verified"


# Messages that a tool exchanges without reporting them, and the fraction by which its values may be rounded.
UNREPORTED, ROUNDED = 16, 0.05


def foreign(case, records, coordinated):
    """Bytes that the command cannot have caused, on the side and in the direction with more of them; None if the tool does
    not report its payload, or without counters."""
    report = (case.sides[0].get("posted") or {}).get("command") or {}
    interfaces = [side.get("interfaces") or [] for side in case.sides]
    payload, length = report.get("payloadBytes"), case.key[1]
    if payload is None or not any(interfaces):
        return None
    largest_payload = max(payload, report.get("mostPayloadBytes") or 0)
    messages = largest_payload // max(length, 1) + UNREPORTED
    one_way = int(largest_payload * (1 + ROUNDED)) + UNREPORTED * length
    load = allowance.Load(one_way, one_way, 2 * messages, 1)
    names = [{one["name"] for one in side} for side in interfaces]
    first, second = (records.host(case.stream, rank) for rank in case.pair)
    if first == second and not names[0].isdisjoint(names[1]):
        load = load.plus(load)
    found = [0]
    for rank, side in zip(case.pair, interfaces, strict=True):
        if not side:
            continue
        longest = max(one["intervalNanos"] for one in side)
        load = dataclasses.replace(load, interval=longest)
        of_side = load.with_sides(coordinated.sides(case, rank))
        sums = [sum(both) for both in zip(*map(counted, side), strict=True)]
        for total, field in zip(sums, ("txPackets", "rxPackets"), strict=True):
            packets = [one.get(field) for one in side]
            known = None if None in packets else sum(packets)
            found.append(total - allowance.most(of_side, load.sent, known))
    return max(found)


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
