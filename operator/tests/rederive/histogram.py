"""Decodes HdrHistogram V2 (DEFLATE, base64) and computes quantiles.

Source: the format description of HdrHistogram (V2 encoding with ZigZag LEB128 counters).
"""

import base64
import functools
import math
import struct
import zlib

COMPRESSED = 0x1C849314
PLAIN = 0x1C849313
# Number of significant digits in a histogram that has not been shortened.
FIGURES = 3


@functools.lru_cache(maxsize=65536)
def decode(text, maximum):
    """Returns {highest value of a bucket: number of samples}. The last bucket ends at `maximum`, the largest sample."""
    data = base64.b64decode(text)
    cookie, length = struct.unpack_from(">II", data)
    assert cookie == COMPRESSED, hex(cookie)
    data = zlib.decompress(data[8 : 8 + length])
    cookie, length, offset, figures, lowest, _, _ = struct.unpack_from(">IIIIQQd", data)
    assert cookie == PLAIN and offset == 0 and lowest == 1, (hex(cookie), offset, lowest)
    half = 1 << (math.ceil(math.log2(2 * 10**figures)) - 1)
    buckets = {}
    index = 0
    for count in counts(data[40 : 40 + length]):
        if count < 0:
            index -= count
            continue
        if count:
            value = highest(index, half)
            if figures < FIGURES:
                value = top_of_middle(lowest_value(index, half), value)
            buckets[value] = buckets.get(value, 0) + count
        index += 1
    last = max(buckets, default=0)
    previous = max((value for value in buckets if value < last), default=0)
    if previous < maximum < last:
        buckets[maximum] = buckets.pop(last)
    return buckets


def highest(index, half):
    """Highest value of the bucket `index`, with `half` sub-buckets in each power of two."""
    exponent = max(index // half - 1, 0)
    start = index if index < 2 * half else index % half + half
    return ((start + 1) << exponent) - 1


def lowest_value(index, half):
    """Lowest value of the bucket `index`."""
    exponent = max(index // half - 1, 0)
    start = index if index < 2 * half else index % half + half
    return start << exponent


def top_of_middle(low, high):
    """Highest value of the bucket with three significant digits that contains the middle of a coarser bucket."""
    middle = low + (high + 1 - low) // 2
    exponent = max(middle.bit_length() - 11, 0)
    return (((middle >> exponent) + 1) << exponent) - 1


def counts(data):
    """Yields the counters; a negative number is a run of zeros."""
    position = 0
    while position < len(data):
        value = shift = 0
        for byte in range(9):
            part = data[position]
            position += 1
            # The ninth byte has no continuation bit: all its bits belong to the value.
            value |= (part if byte == 8 else part & 0x7F) << shift
            shift += 7
            if byte < 8 and not part & 0x80:
                break
        yield value >> 1 if not value & 1 else -(value >> 1) - 1


def tail_quantile(buckets, fraction):
    """A quantile; None if there are so few samples that it is the maximum."""
    count = sum(buckets.values())
    return quantile(buckets, fraction) if math.ceil(fraction * count) < count else None


def quantile(buckets, fraction):
    """Highest value of the bucket that contains the sample with the rank ceil(fraction * samples)."""
    rank = max(math.ceil(fraction * sum(buckets.values())), 1)
    seen = 0
    for value in sorted(buckets):
        seen += buckets[value]
        if seen >= rank:
            return value
    return None
