"""Sizes and durations in a spec, and rate formatting."""

UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
PREFIXES = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")


def size(value):
    """Number of bytes of a size such as 64, "1Ki" or "16M"."""
    digits = str(value).rstrip("kKMGTi")
    return int(digits) * UNITS.get(str(value)[len(digits) :], 1)


def nanos(value):
    """Number of nanoseconds of a duration such as "20ms"."""
    digits = value.rstrip("nusmh")
    return int(digits) * TIMES[value[len(digits) :]]


def rate(bytes_per_second):
    """A rate with three significant digits and a decimal prefix, such as "1.21 GB/s"."""
    prefix = 0
    # A value that would be rounded to 1000 gets the next prefix.
    while bytes_per_second >= 999.5 and prefix + 1 < len(PREFIXES):
        bytes_per_second /= 1000
        prefix += 1
    whole = (not prefix and bytes_per_second == int(bytes_per_second)) or bytes_per_second >= 99.95
    digits = 0 if whole else 1 if bytes_per_second >= 9.995 else 2
    return f"{bytes_per_second:.{digits}f} {PREFIXES[prefix]}"
