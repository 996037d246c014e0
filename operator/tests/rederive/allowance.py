"""The largest number of bytes that an interface counts for a known payload."""

import dataclasses

# Largest headers of a packet, headers that a library adds to a message, and the payload of the shortest full packet.
HEADER, LIBRARY, FULL_PACKET = 128, 128, 1024
PACKETS_PER_MESSAGE = 4
# Fraction of the payload by which repeated packets may increase the counts.
REPEATED = 0.02
# Two records of the largest length for each side of a case, and heartbeats, which follow each other after 2 s.
CONTROL = 2 * 16 * 1024
HEARTBEAT, HEARTBEAT_NANOS = 2048, 2_000_000_000


@dataclasses.dataclass(frozen=True)
class Load:
    """Payload bytes in both directions of an interface, messages in both directions, sides of cases, and the time between
    the readings."""

    sent: int
    received: int
    messages: int
    sides: int
    interval: int = 0

    def plus(self, other):
        own, others = dataclasses.astuple(self), dataclasses.astuple(other)
        sums = [one + two for one, two in zip(own[:-1], others[:-1], strict=True)]
        return Load(*sums, max(self.interval, other.interval))

    def without_sides(self):
        return dataclasses.replace(self, sides=0)

    def with_sides(self, sides):
        """This load, with at least this number of sides."""
        return dataclasses.replace(self, sides=max(self.sides, sides))


def most(load, payload, packets):
    """The largest number of bytes in the direction that carries `payload` in `packets` packets, which may be None."""
    permitted = (load.sent + load.received) // FULL_PACKET + PACKETS_PER_MESSAGE * load.messages
    packets = permitted if packets is None else min(packets, permitted)
    control = CONTROL + HEARTBEAT * (1 + load.interval // HEARTBEAT_NANOS)
    return payload + int(payload * REPEATED) + packets * HEADER + load.messages * LIBRARY + load.sides * control
