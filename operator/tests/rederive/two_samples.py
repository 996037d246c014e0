"""The interval for the shift between two independent samples: the smallest one that contains the rank-sum interval and
Welch's interval."""

import functools
import math
import statistics

from . import student


def interval(first, second, level):
    """The estimate of the shift from `first` to `second`, and its bounds; None if the samples are too small."""
    excluded = cutoff(len(first), len(second), level) if first and second else None
    welch = mean_difference(first, second, level)
    if excluded is None or welch is None:
        return None
    shifts = sorted(after - before for after in second for before in first)
    lower, upper = shifts[excluded], shifts[-1 - excluded]
    return statistics.median(shifts), min(lower, welch[0]), max(upper, welch[1])


@functools.cache
def ordering_counts(first, second):
    """For each Mann-Whitney count, the number of orderings of two samples that have this count."""
    if not first or not second:
        return [1]
    # The largest value belongs to the second sample and exceeds all values of the first, or it belongs to the first.
    last_second, last_first = ordering_counts(first, second - 1), ordering_counts(first - 1, second)
    counts = [0] * (first * second + 1)
    for count, number in enumerate(last_second):
        counts[count + first] += number
    for count, number in enumerate(last_first):
        counts[count] += number
    return counts


@functools.cache
def cutoff(first, second, level):
    """Number of shifts to exclude at each end; None if the samples are too small for the level."""
    below, excluded = 0, None
    for count, number in enumerate(ordering_counts(first, second)):
        below += number
        if below / math.comb(first + second, first) > level / 2:
            break
        excluded = count
    return excluded


def mean_difference(first, second, level):
    """Welch's interval; None if a sample has fewer than two values."""
    if min(len(first), len(second)) < 2:
        return None
    variances = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    difference, variance = statistics.fmean(second) - statistics.fmean(first), sum(variances)
    if not variance:
        return difference, difference
    parts = (one**2 / (len(sample) - 1) for one, sample in zip(variances, (first, second), strict=True))
    reach = student.quantile(1 - level / 2, variance**2 / sum(parts)) * math.sqrt(variance)
    return difference - reach, difference + reach
