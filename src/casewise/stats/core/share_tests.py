"""Whether a share is below what it is held against, for shares of weights that may be halves."""

from __future__ import annotations

from scipy.special import betainc

__all__ = ["binomial_below", "sign_test"]


def binomial_below(successes: float, n: float, share: float) -> float:
    r"""P(at most `successes` of `n`) where each succeeds with probability `share`: one-sided, exact for integers.

    :math:`P(X \le x) = I_{1-p}(n-x,\; x+1)`, which interpolates where ties make *x* fractional. R: `pbinom(x, n, p)`.
    """
    if successes >= n:
        return 1.0
    return float(betainc(n - successes, successes + 1, 1 - share))


def sign_test(one_way: int, other_way: int) -> float:
    """Two-sided exact sign test: how likely so uneven a split is where both ways are equally likely. 1 without any."""
    n, fewer = one_way + other_way, min(one_way, other_way)
    return min(1.0, 2 * binomial_below(fewer, n, 0.5)) if n else 1.0
