"""Bytes that the interfaces counted while cases were measured, and the payload that they had to send and receive."""

import collections
import itertools

from . import allowance, histogram
from .allowance import Load

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


def messages(case):
    """Messages in both directions by rail, and pings with their replies."""
    posts = [(side.get("posted") or {}).get("counters", {}).get("postsPerRail", []) for side in case.sides]
    if case.scenario.kind in ("pingPong", "rpc", "footprint") and not posts[1]:
        posts[1] = posts[0]
    ping = ((case.sides[0].get("posted") or {}).get("ping")) or {}
    pings = 2 * sum(sum(histogram.decode(one["histogram"], one["maxNanos"]).values()) for one in ping.values())
    return [sum(both) for both in itertools.zip_longest(*posts, fillvalue=0)], pings


def on(rails, payload):
    return sum(payload[rail] for rail in rails if rail < len(payload))


def load(case, delta, sent, own):
    """Everything that one side of a case may transfer over the interface of `delta`. The replies to calls, which carry at
    most the payload of the calls, are not in the records."""
    replies = [sent[0] if case.scenario.kind in ("rpc", "footprint") and side == 1 else [] for side in (0, 1)]
    rails = delta["rails"]
    by_rail, pings = messages(case)
    both = [on(rails, sent[side]) + on(rails, replies[side]) for side in (own, 1 - own)]
    return Load(*both, on(rails, by_rail) + pings, 1, delta["intervalNanos"])


class Bytes:
    """Bytes that an interface had to send and receive for a case, the largest byte and packet counts that were read, and
    everything that the case may have transferred."""

    def __init__(self, sent=0, received=0, counted_sent=0, counted_received=0, packets=(0, 0), load=None):
        self.sent, self.received = sent, received
        self.counted_sent, self.counted_received = counted_sent, counted_received
        self.packets, self.load = packets, load or Load(0, 0, 0, 0)

    def add(self, other):
        """Adds the payload of `other`, and keeps the larger counts."""
        self.packets = tuple(map(most_packets, self.packets, other.packets))
        self.load = self.load.plus(other.load)
        self.sent += other.sent
        self.received += other.received
        self.counted_sent = max(self.counted_sent, other.counted_sent)
        self.counted_received = max(self.counted_received, other.counted_received)

    def covered(self):
        """Whether the counts cover at least the fraction COVERAGE of the payload in both directions."""
        return self.counted_sent >= self.sent * COVERAGE and self.counted_received >= self.received * COVERAGE


    def foreign(self):
        """Bytes that the case cannot have caused, in the direction with more of them."""
        sent, received = self.packets
        return max(
            0,
            self.counted_sent - allowance.most(self.load, self.load.sent, sent),
            self.counted_received - allowance.most(self.load, self.load.received, received),
        )


def most_packets(one, other):
    """The larger of two packet counts; None if one is unknown."""
    return None if None in (one, other) else max(one, other)


class Coordinated:
    """Sides of the cases that start together. Worker 0 coordinates them, so they exchange messages with its host."""

    def __init__(self, cases, records):
        self.records = records
        self.counts = collections.Counter(map(self.start, cases))

    def sides(self, case, rank):
        """The number of sides, if the worker `rank` is on the host of worker 0; otherwise 0."""
        same = self.records.host(case.stream, rank) == self.records.host(case.stream, 0)
        return 2 * self.counts[self.start(case)] if same else 0

    @staticmethod
    def start(case):
        return case.stream, case.record["block"], case.key[2], case.record["startedNanos"]


class Reading:
    """Cases that overlapped in time on one interface. `coordinated` is the number of sides that exchange messages with
    the coordinator, if this is its host."""

    def __init__(self):
        self.end = 0
        self.coordinated = 0
        self.cases = {}

    def add(self, case, end, bytes_of_case):
        self.end = max(self.end, end)
        self.cases.setdefault(case, Bytes()).add(bytes_of_case)

    def total(self):
        """The payload of all cases, and the largest counts that any of them read."""
        total = Bytes()
        for one in self.cases.values():
            total.add(one)
        both_post = any(case.scenario.both_post for case in self.cases)
        if len(self.cases) > 1 or both_post:
            total.load = total.load.plus(total.load.without_sides())
        total.load = total.load.with_sides(self.coordinated)
        return total

    def foreign(self):
        """Bytes of other traffic."""
        return self.total().foreign()


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


def packets(delta):
    """Packets sent and received; None for both unless both are known."""
    both = delta.get("txPackets"), delta.get("rxPackets")
    return (None, None) if None in both else both


def readings(cases, records, coordinated):
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
                possible = load(case, delta, sent, own)
                overlapping.coordinated = max(overlapping.coordinated, coordinated.sides(case, rank))
                overlapping.add(case, end, Bytes(*expected, *counted(delta), packets(delta), possible))
    return [reading for of_interface in found.values() for reading in of_interface]


def totals(found):
    """Counted bytes, payload bytes and bytes of other traffic of the readings in which every case is valid."""
    chosen = [reading for reading in found if all(case.valid for case in reading.cases)]
    foreign = [one.foreign() for one in chosen if not any(case.beside_failed for case in one.cases)]
    counted_bytes = [one.total().counted_sent for one in chosen]
    payload = sum(one.total().sent for one in chosen)
    return sum(counted_bytes) if chosen else None, payload, sum(foreign) if foreign else None
