"""Confidence intervals of shares, 95%."""

from __future__ import annotations

from math import sqrt

Interval = tuple[float, float]
"""The lower and the upper limit."""

Z = 1.959963984540054
"""The 97.5% point of the normal distribution."""


def wilson(count: int, total: int) -> Interval:
    """Return the 95% interval of the share `count / total`; (0, 1) if `total` is 0.

    The score interval: Wilson, E. B. (1927), "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22, 209-212.
    """
    if not total:
        return 0.0, 1.0
    share, square = count / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z / (1 + square / total) * sqrt(share * (1 - share) / total + square / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(both: int, first: int, second: int, neither: int) -> Interval:
    """Return the 95% interval of the difference of two shares that were counted over the same cases: first minus
    second.

    `both`, `first`, `second`, `neither`: in how many cases both things happened, only the first, only the second,
    neither. (-1, 1) without cases. Method 10 of Newcombe, R. G. (1998), "Improved confidence intervals for the
    difference between binomial proportions based on paired data", Statistics in Medicine 17, 2635-2650.
    """
    total = both + first + second + neither
    if not total:
        return -1.0, 1.0
    one, other = (both + first) / total, (both + second) / total
    (low1, high1), (low2, high2) = wilson(both + first, total), wilson(both + second, total)
    phi = _correlation(both, first, second, neither)
    down1, up1, down2, up2 = one - low1, high1 - one, other - low2, high2 - other
    below = sqrt(max(0.0, down1 * down1 - 2 * phi * down1 * up2 + up2 * up2))
    above = sqrt(max(0.0, up1 * up1 - 2 * phi * up1 * down2 + down2 * down2))
    return max(-1.0, one - other - below), min(1.0, one - other + above)


def _correlation(both: int, first: int, second: int, neither: int) -> float:
    """Return the correlation of the two things, with the continuity correction of method 10 if it is positive; 0 if one
    of them happened always or never."""
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    if not product:
        return 0.0
    total, cross = both + first + second + neither, both * neither - first * second
    return (max(cross - total / 2, 0.0) if cross > 0 else cross) / sqrt(product)
