"""Sizes and durations in a spec."""

UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def size(value):
    """Number of bytes of a size such as 64, "1Ki" or "16M"."""
    digits = str(value).rstrip("kKMGTi")
    return int(digits) * UNITS.get(str(value)[len(digits) :], 1)


def nanos(value):
    """Number of nanoseconds of a duration such as "20ms"."""
    digits = value.rstrip("nusmh")
    return int(digits) * TIMES[value[len(digits) :]]
