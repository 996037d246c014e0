"""Quantiles of Student's t distribution with any number of degrees of freedom.

Source: the continued fraction of the incomplete beta function, DLMF 8.17.22, evaluated with Lentz's method.
"""

import math

TINY = 1e-300


def quantile(probability, freedom):
    """The quantile for `probability`, which must be at least 0.5."""
    low, high = 0.0, 1.0
    while cumulative_probability(high, freedom) < probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cumulative_probability(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def cumulative_probability(value, freedom):
    """The cumulative distribution function at `value`, which must be at least 0."""
    return 1 - incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value**2)) / 2


def incomplete_beta(a, b, x):
    """The regularized incomplete beta function."""
    if x in (0, 1):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / a / fraction(a, b, x)


def fraction(a, b, x):
    """1 + d1 / (1 + d2 / (1 + ...))."""
    value = numerator = 1.0
    denominator = 0.0
    for step in range(1, 10_000):
        half = step // 2
        if step % 2:
            part = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            part = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        denominator = 1 / (1 + part * denominator or TINY)
        numerator = 1 + part / numerator or TINY
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value
