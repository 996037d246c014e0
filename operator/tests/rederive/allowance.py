"""The largest number of bytes that an interface counts for a known payload."""

import dataclasses

# Largest headers of a packet, headers that a library adds to a message, and the payload of the shortest full packet.
HEADER, LIBRARY, FULL_PACKET = 128, 128, 1024
PACKETS_PER_MESSAGE = 4
# Fraction of the payload by which repeated packets may increase the counts.
REPEATED = 0.02
# Two records of the largest length for each side of a case.
CONTROL = 2 * 16 * 1024


@dataclasses.dataclass(frozen=True)
class Load:
    """Payload bytes in both directions of an interface, messages in both directions, and sides of cases."""

    sent: int
    received: int
    messages: int
    sides: int

    def plus(self, other):
        return Load(*(one + two for one, two in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    def without_sides(self):
        return dataclasses.replace(self, sides=0)


def most(load, payload, packets):
    """The largest number of bytes in the direction that carries `payload` in `packets` packets, which may be None."""
    permitted = (load.sent + load.received) // FULL_PACKET + PACKETS_PER_MESSAGE * load.messages
    packets = permitted if packets is None else min(packets, permitted)
    return payload + int(payload * REPEATED) + packets * HEADER + load.messages * LIBRARY + load.sides * CONTROL
