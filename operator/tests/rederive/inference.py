"""Effects, exact signed-rank confidence intervals and verdicts."""

import functools
import math
import statistics

HIGHER_IS_BETTER = ("Throughput", "CompletionRate", "ReportedBandwidth")


def walsh(values):
    """The Walsh averages: the sorted means of each value with itself and with each later value."""
    return sorted((first + second) / 2 for index, first in enumerate(values) for second in values[index:])


def estimate(values):
    """The Hodges-Lehmann estimate."""
    return statistics.median(walsh(values))


def interval(values, level):
    """Lower and upper confidence bound at the two-sided significance level `level`; None if there are too few values
    for an exact interval."""
    count = len(values)
    ways = [1]
    for rank in range(1, count + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    below, excluded = 0, None
    for total, number in enumerate(ways):
        below += number
        if below / 2**count > level / 2:
            break
        excluded = total
    if excluded is None:
        return None
    averages = walsh(values)
    return averages[excluded], averages[-1 - excluded]


def widened(effects, level):
    """Interval of the effects of rounds, from the bounds of each; None if there are too few rounds."""
    printed = interval(effects.printed, level) if effects.printed else None
    if printed is None or effects.is_exact:
        return printed
    return interval(effects.lower, level)[0], interval(effects.upper, level)[1]


def resolution(effects):
    """The bounds that would remain without noise; both are the estimate if the values are exact."""
    if effects.is_exact:
        return (estimate(effects.printed),) * 2
    return estimate(effects.lower), estimate(effects.upper)


def is_resolution_open(effects, bounds, level, margin):
    """Whether the resolution leaves an inconclusive verdict open, whatever the number of rounds."""
    if effects.below:
        return True
    if not effects.printed or effects.is_exact or verdict(bounds, margin, True) != "Inconclusive":
        return False
    found, printed = resolution(effects), interval(effects.printed, level)
    if verdict(found, margin, True) != "Inconclusive":
        return False
    is_wide = (found[1] - found[0]) / 2 > math.log1p(margin / 100)
    return is_wide or (printed is not None and verdict(printed, margin, True) != "Inconclusive")


def percent(log_ratio):
    return 100 * math.expm1(log_ratio)


def verdict(bounds, margin, higher_is_better):
    """Verdict on an interval of log ratios, with the margin in percent."""
    if bounds is None:
        return "Inconclusive"
    edge = math.log1p(margin / 100)
    lower, upper = bounds if higher_is_better else (-bounds[1], -bounds[0])
    if lower > edge:
        return "Improved"
    if upper < -edge:
        return "Regressed"
    return "NoChange" if lower >= -edge and upper <= edge else "Inconclusive"


def expectation(bounds, sign, least, margin):
    """Outcome of an expected change of at least `least` percent, or of the margin if `least` is 0. `sign` is -1 for a
    decrease."""
    if bounds is None:
        return "Inconclusive"
    needed = sign * math.log1p(sign * least / 100) if least else math.log1p(margin / 100)
    lower, upper = sorted(sign * bound for bound in bounds)
    if lower >= needed:
        return "Met"
    return "NotMet" if upper < needed else "Inconclusive"


@functools.lru_cache(maxsize=None)
def reach(count, level):
    """For `count` rounds with a standard deviation of 1: the half-width of the confidence interval, and the minimum
    detectable effect beyond the margin at 80 percent power. None if there are too few rounds."""
    normal = statistics.NormalDist()
    bounds = interval([normal.inv_cdf((rank - 0.375) / (count + 0.25)) for rank in range(1, count + 1)], level)
    if bounds is None:
        return None
    half = (bounds[1] - bounds[0]) / 2
    return half, half + normal.inv_cdf(0.8) * math.sqrt(math.pi / (3 * count) + half**2 / (2 * count))


def minimum_detectable_effect(effects, level, margin):
    """Minimum detectable effect in percent, at 80 percent power; None without an interval."""
    bounds = interval(effects.printed, level) if effects.printed else None
    if bounds is None:
        return None
    half, needed = reach(len(effects.printed), level)
    center, (lower, upper) = estimate(effects.printed), resolution(effects)
    blurred = max(center - lower, upper - center)
    return percent(math.log1p(margin / 100) + blurred + (bounds[1] - bounds[0]) / 2 / half * needed)


def distance_from_edge(bounds, margin):
    """Distance of the bounds without noise from the nearest edge of the margin; None if they lie on both sides of one."""
    edge, (lower, upper) = math.log1p(margin / 100), bounds
    if lower >= edge:
        return lower - edge
    if upper <= -edge:
        return -edge - upper
    inside = edge - max(abs(lower), abs(upper))
    return inside if inside >= 0 else None


def rounds_to_settle(effects, level, margin):
    """Estimated number of rounds needed to settle an inconclusive verdict; None if more than 60 are needed, or if the
    resolution rules out any other verdict."""
    values = effects.printed
    distance = distance_from_edge(resolution(effects), margin)
    if distance is None:
        return None
    bounds = interval(values, level)
    minimum = math.ceil(math.log2(2 / level))
    least = max(minimum, len(values) + 1)
    if bounds:
        scale = (bounds[1] - bounds[0]) / 2 / reach(len(values), level)[0]
    elif len(values) < 3:
        return max(least, minimum + 4)
    else:
        center = statistics.median(values)
        scale = 1.4826 * statistics.median(abs(value - center) for value in values)
    counts = (count for count in range(least, 61) if scale * reach(count, level)[1] < distance)
    return next(counts, None)
