"""Effects, exact signed-rank intervals and verdicts."""

import math
import statistics


def walsh(values):
    """The sorted means of each value with itself and with each later value."""
    return sorted((first + second) / 2 for index, first in enumerate(values) for second in values[index:])


def estimate(values):
    """The Hodges-Lehmann estimate."""
    return statistics.median(walsh(values))


def interval(values, level):
    """Lower and upper bound at the two-sided `level`; None if no exact interval exists for so few values."""
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


def detectable(bounds, count, level, margin):
    """Smallest change in percent that is detected with a probability of 80 percent."""
    normal = statistics.NormalDist()
    scores = [normal.inv_cdf((rank - 0.375) / (count + 0.25)) for rank in range(1, count + 1)]
    low, high = interval(scores, level)
    reach = (high - low) / 2
    spread = (bounds[1] - bounds[0]) / 2 / reach
    error = math.sqrt(math.pi / (3 * count) + reach**2 / (2 * count))
    return percent(math.log1p(margin / 100) + spread * (reach + normal.inv_cdf(0.8) * error))
