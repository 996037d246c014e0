"""Bytes that the interfaces counted while cases were measured, and the payload that they had to send and receive."""

import collections
import itertools

COVERAGE = 0.99


def per_rail(side):
    return (side.get("posted") or {}).get("counters", {}).get("bytesPerRail", [])


def payloads(case):
    """Bytes that the initiator sends and bytes that the target sends, each by rail."""
    request, response = (per_rail(side) for side in case.sides)
    if case.scenario.kind == "pingPong":
        return request, response or request
    if case.scenario.mode:
        # The trainer writes the versions, or the workers read them from it.
        return [sum(both) for both in itertools.zip_longest(request, response, fillvalue=0)], []
    if case.scenario.reads_back:
        one_way = [count // 2 for count in request]
        return one_way, one_way
    # The posts of a target that replies to calls are not reported.
    response = response if case.scenario.both_post else []
    return (response, request) if case.scenario.operation == "Read" else (request, response)


def on(rails, payload):
    return sum(payload[rail] for rail in rails if rail < len(payload))


class Bytes:
    """Bytes that an interface had to send and receive for a case, and the largest byte counts that were read."""

    def __init__(self, sent=0, received=0, counted_sent=0, counted_received=0):
        self.sent, self.received = sent, received
        self.counted_sent, self.counted_received = counted_sent, counted_received

    def add(self, other):
        """Adds the payload of `other`, and keeps the larger counts."""
        self.sent += other.sent
        self.received += other.received
        self.counted_sent = max(self.counted_sent, other.counted_sent)
        self.counted_received = max(self.counted_received, other.counted_received)

    def covered(self):
        """Whether the counts cover at least the fraction COVERAGE of the payload in both directions."""
        return self.counted_sent >= self.sent * COVERAGE and self.counted_received >= self.received * COVERAGE


class Reading:
    """Cases that overlapped in time on one interface."""

    def __init__(self):
        self.end = 0
        self.cases = {}

    def add(self, case, end, bytes_of_case):
        self.end = max(self.end, end)
        self.cases.setdefault(case, Bytes()).add(bytes_of_case)

    def total(self):
        """The payload of all cases, and the largest counts that any of them read."""
        total = Bytes()
        for one in self.cases.values():
            total.add(one)
        return total


def counted(delta):
    """Bytes that an interface sent and received. For a software device, each count is at most the device's number of
    packets multiplied by their size."""
    device = delta.get("software")
    if not device:
        return delta["txBytes"], delta["rxBytes"]
    most = [device[packets] * device["packetBytes"] for packets in ("txPackets", "rxPackets")]
    return min(delta["txBytes"], most[0]), min(delta["rxBytes"], most[1])


def is_looped_back(case, records):
    """Whether both workers are on one host and use the same software device, which then sends nothing over its
    interface."""
    names = [{one["name"] for one in side.get("interfaces", []) if one.get("software")} for side in case.sides]
    first, second = (records.host(case.stream, rank) for rank in case.pair)
    return first == second and not names[0].isdisjoint(names[1])


def readings(cases, records):
    """The readings of all interfaces during the measured cases."""
    found = collections.defaultdict(list)
    for case in sorted(cases, key=lambda one: one.record["startedNanos"]):
        if not case.measured:
            continue
        sent, start = payloads(case), case.record["startedNanos"]
        for rank, side, own, other in zip(case.pair, case.sides, (0, 1), (1, 0), strict=True):
            for delta in side.get("interfaces", []):
                of_interface = found[case.record["block"], case.key[2], records.host(case.stream, rank), delta["name"]]
                overlapping = next((one for one in of_interface if start < one.end), None)
                if not overlapping:
                    overlapping = Reading()
                    of_interface.append(overlapping)
                expected = (on(delta["rails"], sent[one]) for one in (own, other))
                end = start + max(delta["intervalNanos"], side["windowNanos"])
                overlapping.add(case, end, Bytes(*expected, *counted(delta)))
    return [reading for of_interface in found.values() for reading in of_interface]


def totals(found):
    """Counted bytes and payload bytes of the readings in which every case is valid."""
    chosen = [reading.total() for reading in found if all(case.valid for case in reading.cases)]
    return sum(one.counted_sent for one in chosen) if chosen else None, sum(one.sent for one in chosen)
