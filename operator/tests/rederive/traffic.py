"""Bytes that the interfaces counted while cases were measured, and the payload that they had to send and receive."""

import collections

COVERAGE = 0.99


def per_rail(side):
    return (side.get("posted") or {}).get("counters", {}).get("bytesPerRail", [])


def payloads(record, scenario):
    """Bytes per rail that the initiator sends, and those that the target sends."""
    measured = record["result"]["measured"]
    request, response = per_rail(measured["initiator"]), per_rail(measured["target"])
    if scenario.kind == "pingPong":
        return request, response or request
    response = response if scenario.both_post else []
    return (response, request) if scenario.operation == "Read" else (request, response)


def on(rails, payload):
    return sum(payload[rail] for rail in rails if rail < len(payload))


class Reading:
    """Cases that overlapped in time on one interface, each with (sent, received, counted sent, counted received)."""

    def __init__(self):
        self.end = 0
        self.cases = {}

    def add(self, index, start, end, values):
        self.end = max(self.end, end)
        sent, received, counted_sent, counted_received = self.cases.get(index, (0, 0, 0, 0))
        self.cases[index] = (
            sent + values[0],
            received + values[1],
            max(counted_sent, values[2]),
            max(counted_received, values[3]),
        )


def readings(records, scenarios):
    """The readings of all interfaces. `records` are measured cases; a reading refers to them by index."""
    found = collections.defaultdict(list)
    for index, record in sorted(enumerate(records), key=lambda one: one[1]["startedNanos"]):
        measured = record["result"].get("measured")
        if not measured:
            continue
        sent = payloads(record, scenarios[record["scenario"]])
        start = record["startedNanos"]
        for side, own, other in (("initiator", 0, 1), ("target", 1, 0)):
            for delta in measured[side].get("interfaces", []):
                host = record["hosts"].get(record[side], f"rank {record[side]}")
                of_interface = found[record["block"], record["arm"], host, delta["name"]]
                overlapping = next((one for one in of_interface if start < one.end), None)
                if not overlapping:
                    overlapping = Reading()
                    of_interface.append(overlapping)
                end = start + max(delta["intervalNanos"], measured[side]["windowNanos"])
                rails = delta["rails"]
                expected = on(rails, sent[own]), on(rails, sent[other])
                overlapping.add(index, start, end, (*expected, delta["txBytes"], delta["rxBytes"]))
    return [reading for of_interface in found.values() for reading in of_interface]


def contradicted(found):
    """Indexes of the cases for which an interface counted fewer bytes than the payload."""
    return {
        index
        for reading in found
        for index, (sent, received, counted_sent, counted_received) in reading.cases.items()
        if counted_sent < sent * COVERAGE or counted_received < received * COVERAGE
    }


def totals(found, valid):
    """Counted bytes and payload bytes of the readings whose cases are all in `valid`."""
    chosen = [reading.cases.values() for reading in found if valid.issuperset(reading.cases)]
    counted = sum(max(case[2] for case in cases) for cases in chosen)
    return counted if chosen else None, sum(case[0] for cases in chosen for case in cases)
