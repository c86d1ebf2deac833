"""The table of errors of Esposito, Cerrato and Locatelli (2024), section "Quality of the Inferred Model".

Mean and standard deviation of the mean squared error over 100 splits, on the training rows and on the rows held out.
"""

from __future__ import annotations

Errors = dict[str, tuple[float, float]]  # by model: mean, standard deviation
HALF_A_DIGIT = 0.5e-4  # the table has four decimals
_MODELS = ("least_squares", "principal_components", "partial_least_squares", "signs_of_least_squares training", "bnb",
           "signs_of_least_squares all")


def _table(*errors: tuple[float, float]) -> Errors:
    return dict(zip(_MODELS, errors, strict=True))


TRAINING: dict[str, Errors] = {
    "artificial": _table((0.1759, 0.04), (23.5646, 4.48), (0.5060, 0.10), (0.1759, 0.04), (0.1885, 0.05),
                         (0.1885, 0.05)),
    "limpet": _table((0.0, 0.0), (0.7085, 0.13), (0.6364, 0.76), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    "facebook": _table((2785.6553, 450.79), (3672.9801, 503.71), (3765.2822, 509.81), (2785.6553, 450.79),
                       (2850.4851, 457.82), (2791.9103, 450.93)),
    "year_prediction": _table((89.9616, 1.97), (115.2383, 2.39), (3.42e5, 6.8e3), (89.9616, 1.97), (100.2951, 2.02),
                              (90.1798, 1.97)),
    "superconductivity": _table((307.6365, 3.68), (762.7407, 6.77), (566.8627, 5.25), (307.6365, 3.68),
                                (376.8152, 3.91), (307.7331, 3.68)),
}
TEST: dict[str, Errors] = {
    "artificial": _table((0.8060, 0.16), (30.3264, 2.26), (2.0636, 0.64), (0.8060, 0.16), (0.6845, 0.11),
                         (0.6845, 0.11)),
    "limpet": _table((4.1391, 3.95), (1.0548, 0.39), (1.2695, 1.65), (6.9099, 12.56), (46.3429, 47.30),
                     (4.4367, 4.20)),
    "facebook": _table((3012.9160, 725.57), (3687.1780, 789.64), (3784.4111, 798.20), (3012.9160, 725.57),
                       (3023.1348, 733.19), (2988.1926, 722.48)),
    "year_prediction": _table((91.8708, 2.20), (115.5236, 2.71), (3.5e5, 1.1e4), (91.8708, 2.20), (101.8315, 2.28),
                              (91.7042, 2.18)),
    "superconductivity": _table((310.8739, 5.76), (764.4683, 11.35), (567.6426, 8.32), (310.8739, 5.76),
                                (379.3639, 5.87), (310.7671, 5.76)),
}
for published in (TRAINING, TEST):
    published["limpet-as-published"] = published["limpet"]


def is_within(mean: float, published: float, deviation: float) -> bool:
    """Return whether a mean lies within two published standard deviations, and the last printed digit, of theirs."""
    return bool(abs(mean - published) <= 2 * deviation + HALF_A_DIGIT)
