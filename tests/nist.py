"""Certified linear least squares problems from the NIST StRD.

Five data sets of the Statistical Reference Datasets (StRD) of the US National
Institute of Standards and Technology, with the values NIST certifies for them.
NIST computed them in multiple precision and prints 15 significant digits, so
they are an oracle that owes nothing to this package or to any library it calls.

========  ==  =======  =========  ======  =================================
Set       n   Columns  Condition  Digits  Model
========  ==  =======  =========  ======  =================================
Longley   16  6        4.9e9      14.6    intercept and six economic series
Wampler1  21  5        6.4e6      15      polynomial of degree 5, exact fit
Wampler2  21  5        6.4e6      13.2    polynomial of degree 5, exact fit
Filip     82  10       1.8e15     7.6     polynomial of degree 10
Norris    36  1        8.6e2      14.1    straight line
========  ==  =======  =========  ======  =================================

``Condition`` is the 2-norm condition number of the design with its intercept
column; for ``Digits`` see the notes.

Notes
-----
What the sets are for: a partitioned least squares problem reduces to ordinary
least squares, and so has these certified answers, whenever the partition does
not bind.

* With singleton groups every set is ordinary least squares.
* The slopes of Wampler1 and Wampler2 are all positive and those of Filip all
  negative (the intercept belongs to no group), so *any* partition of their
  columns, down to one group of all of them, keeps the certified answer.
* Longley's slopes have the signs ``+ - - - - +``: a partition keeps the
  certified answer if and only if no group mixes columns ``{0, 5}`` with columns
  ``{1, 2, 3, 4}``.

The certified answers belong to the decimal data, while `CertifiedFit` holds
doubles: the data and, for the polynomials, the powers in ``X`` are rounded. The
exact rational solution of the *rounded* problem therefore agrees with the
certified coefficients only to the ``Digits`` of the table (as measured by
`correct_digits`), and a solver can be asked for no more. The figure for Filip
depends on how the platform rounds ``x**k``, so leave a margin there. Filip is
also numerically rank deficient at the usual tolerance ``n * eps``: a solver that
truncates small singular values, as `numpy.linalg.lstsq` does by default, returns
another vector with no correct digit.

References
----------
NIST/ITL, *Statistical Reference Datasets: Linear Least Squares Regression*,
https://www.itl.nist.gov/div898/strd/lls/lls.shtml, files ``Longley.dat``,
``Wampler1.dat``, ``Wampler2.dat``, ``Filip.dat`` and ``Norris.dat``. A work of
the US government, in the public domain. NIST gives as origins:

.. [1] Longley, J. W. (1967). An Appraisal of Least Squares Programs for the
   Electronic Computer from the Point of View of the User. *Journal of the American
   Statistical Association*, 62, 819-841.
.. [2] Wampler, R. H. (1970). A Report on the Accuracy of Some Widely Used Least
   Squares Computer Programs. *Journal of the American Statistical Association*,
   65, 549-565.
.. [3] Filippelli, A., NIST (Filip).
.. [4] Norris, J., NIST. Calibration of Ozone Monitors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

MAX_DIGITS = 15.0
"""Digits NIST prints, and so the most `correct_digits` reports."""


@dataclass(frozen=True, eq=False)
class CertifiedFit:
    """One data set with its certified least squares fit.

    All arrays are read-only.

    Attributes
    ----------
    name : str
        Name of the set in the StRD.
    y : ndarray of shape (n,)
        Response.
    x : ndarray of shape (n, r)
        Predictors as NIST lists them: six columns for Longley, one otherwise.
    X : ndarray of shape (n, p)
        Design without the intercept column: `x` itself, or its powers
        ``1, ..., p`` for a polynomial model.
    coef : ndarray of shape (p + 1,)
        Certified coefficients, intercept first.
    standard_errors : ndarray of shape (p + 1,)
        Certified standard deviations of the coefficients, intercept first.
    residual_sum_of_squares : float
        Certified residual sum of squares.
    residual_standard_deviation : float
        Certified ``sqrt(residual_sum_of_squares / (n - p - 1))``.
    """

    name: str
    y: FloatArray
    x: FloatArray
    X: FloatArray
    coef: FloatArray
    standard_errors: FloatArray
    residual_sum_of_squares: float
    residual_standard_deviation: float

    def __post_init__(self) -> None:
        """Check the shapes and make the arrays read-only."""
        n, p = self.X.shape
        if self.y.shape != (n,) or len(self.x) != n:
            raise ValueError(f"{self.name}: y, x and X differ in length")
        if self.coef.shape != (p + 1,) or self.standard_errors.shape != (p + 1,):
            raise ValueError(f"{self.name}: need one certified value per column and the intercept")
        for array in (self.y, self.x, self.X, self.coef, self.standard_errors):
            array.setflags(write=False)

    @property
    def intercept(self) -> float:
        """Certified intercept."""
        return float(self.coef[0])

    @property
    def slopes(self) -> FloatArray:
        """Certified coefficients of the columns of `X`."""
        return self.coef[1:]


def powers(x: npt.ArrayLike, degree: int) -> FloatArray:
    """Return the polynomial design of one predictor, without the intercept.

    Parameters
    ----------
    x : array_like of shape (n,)
        Predictor.
    degree : int
        Highest power.

    Returns
    -------
    ndarray of shape (n, degree)
        Column ``k - 1`` holds ``x**k``.
    """
    base = np.asarray(x, dtype=np.float64)
    return np.column_stack([base**k for k in range(1, degree + 1)])


def correct_digits(estimate: npt.ArrayLike, certified: npt.ArrayLike) -> float:
    """Count the correct significant digits of the worst coefficient.

    The log relative error: the minimum over the coefficients of
    ``-log10(|estimate - certified| / |certified|)``, with the absolute error
    for a certified zero.

    Parameters
    ----------
    estimate : array_like
        Computed values.
    certified : array_like of the same shape
        Certified values.

    Returns
    -------
    float
        At most 15, the digits NIST prints. Negative if an estimate is off by
        more than its size; ``-inf`` if one is not finite.

    Raises
    ------
    ValueError
        If the shapes differ or there is nothing to compare.
    """
    found = np.asarray(estimate, dtype=np.float64)
    target = np.asarray(certified, dtype=np.float64)
    if found.shape != target.shape:
        raise ValueError(f"shapes differ: {found.shape} and {target.shape}")
    if found.size == 0:
        raise ValueError("no coefficients to compare")
    if not np.all(np.isfinite(found)):
        return -np.inf
    scale = np.where(target == 0.0, 1.0, np.abs(target))
    worst = float(np.max(np.abs(found - target) / scale))
    if worst <= 10.0**-MAX_DIGITS:
        return MAX_DIGITS
    return float(-np.log10(worst))


def _from_table(
    name: str,
    table: Sequence[Sequence[float]],
    certified: Sequence[tuple[float, float]],
    *,
    degree: int | None = None,
    residual_sum_of_squares: float,
    residual_standard_deviation: float,
) -> CertifiedFit:
    """Build a fit from rows ``(y, x...)`` and rows ``(coefficient, standard error)``."""
    data = np.array(table, dtype=np.float64)
    values = np.array(certified, dtype=np.float64)
    x = data[:, 1:].copy()
    return CertifiedFit(
        name=name,
        y=data[:, 0].copy(),
        x=x,
        X=x.copy() if degree is None else powers(x[:, 0], degree),
        coef=values[:, 0].copy(),
        standard_errors=values[:, 1].copy(),
        residual_sum_of_squares=residual_sum_of_squares,
        residual_standard_deviation=residual_standard_deviation,
    )


# The tables keep the row order and the digits NIST prints.
# fmt: off

# y = total employment; x = GNP deflator, GNP, unemployed, armed forces, population, year
_LONGLEY = (
    (60323, 83.0, 234289, 2356, 1590, 107608, 1947),
    (61122, 88.5, 259426, 2325, 1456, 108632, 1948),
    (60171, 88.2, 258054, 3682, 1616, 109773, 1949),
    (61187, 89.5, 284599, 3351, 1650, 110929, 1950),
    (63221, 96.2, 328975, 2099, 3099, 112075, 1951),
    (63639, 98.1, 346999, 1932, 3594, 113270, 1952),
    (64989, 99.0, 365385, 1870, 3547, 115094, 1953),
    (63761, 100.0, 363112, 3578, 3350, 116219, 1954),
    (66019, 101.2, 397469, 2904, 3048, 117388, 1955),
    (67857, 104.6, 419180, 2822, 2857, 118734, 1956),
    (68169, 108.4, 442769, 2936, 2798, 120445, 1957),
    (66513, 110.8, 444546, 4681, 2637, 121950, 1958),
    (68655, 112.6, 482704, 3813, 2552, 123366, 1959),
    (69564, 114.2, 502601, 3931, 2514, 125368, 1960),
    (69331, 115.7, 518173, 4806, 2572, 127852, 1961),
    (70551, 116.9, 554894, 4007, 2827, 130081, 1962),
)

_LONGLEY_CERTIFIED = (
    (-3482258.63459582, 890420.383607373),
    (15.0618722713733, 84.9149257747669),
    (-0.358191792925910e-01, 0.334910077722432e-01),
    (-2.02022980381683, 0.488399681651699),
    (-1.03322686717359, 0.214274163161675),
    (-0.511041056535807e-01, 0.226073200069370),
    (1829.15146461355, 455.478499142212),
)

# (y, x) from here on
_WAMPLER1 = (
    (1, 0), (6, 1), (63, 2), (364, 3), (1365, 4), (3906, 5), (9331, 6),
    (19608, 7), (37449, 8), (66430, 9), (111111, 10), (177156, 11), (271453, 12), (402234, 13),
    (579195, 14), (813616, 15), (1118481, 16), (1508598, 17), (2000719, 18), (2613660, 19), (3368421, 20),
)

_WAMPLER1_CERTIFIED = (
    (1.00000000000000, 0.000000000000000),
    (1.00000000000000, 0.000000000000000),
    (1.00000000000000, 0.000000000000000),
    (1.00000000000000, 0.000000000000000),
    (1.00000000000000, 0.000000000000000),
    (1.00000000000000, 0.000000000000000),
)

_WAMPLER2 = (
    (1.00000, 0), (1.11111, 1), (1.24992, 2), (1.42753, 3), (1.65984, 4), (1.96875, 5),
    (2.38336, 6), (2.94117, 7), (3.68928, 8), (4.68559, 9), (6.00000, 10), (7.71561, 11),
    (9.92992, 12), (12.75603, 13), (16.32384, 14), (20.78125, 15), (26.29536, 16), (33.05367, 17),
    (41.26528, 18), (51.16209, 19), (63.00000, 20),
)

_WAMPLER2_CERTIFIED = (
    (1.00000000000000, 0.000000000000000),
    (0.100000000000000, 0.000000000000000),
    (0.100000000000000e-01, 0.000000000000000),
    (0.100000000000000e-02, 0.000000000000000),
    (0.100000000000000e-03, 0.000000000000000),
    (0.100000000000000e-04, 0.000000000000000),
)

_FILIP = (
    (0.8116, -6.860120914), (0.9072, -4.324130045), (0.9052, -4.358625055), (0.9039, -4.358426747),
    (0.8053, -6.955852379), (0.8377, -6.661145254), (0.8667, -6.355462942), (0.8809, -6.118102026),
    (0.7975, -7.115148017), (0.8162, -6.815308569), (0.8515, -6.519993057), (0.8766, -6.204119983),
    (0.8885, -5.853871964), (0.8859, -6.109523091), (0.8959, -5.79832982), (0.8913, -5.482672118),
    (0.8959, -5.171791386), (0.8971, -4.851705903), (0.9021, -4.517126416), (0.909, -4.143573228),
    (0.9139, -3.709075441), (0.9199, -3.499489089), (0.8692, -6.300769497), (0.8872, -5.953504836),
    (0.89, -5.642065153), (0.891, -5.031376979), (0.8977, -4.680685696), (0.9035, -4.329846955),
    (0.9078, -3.928486195), (0.7675, -8.56735134), (0.7705, -8.363211311), (0.7713, -8.107682739),
    (0.7736, -7.823908741), (0.7775, -7.522878745), (0.7841, -7.218819279), (0.7971, -6.920818754),
    (0.8329, -6.628932138), (0.8641, -6.323946875), (0.8804, -5.991399828), (0.7668, -8.781464495),
    (0.7633, -8.663140179), (0.7678, -8.473531488), (0.7697, -8.247337057), (0.77, -7.971428747),
    (0.7749, -7.676129393), (0.7796, -7.352812702), (0.7897, -7.072065318), (0.8131, -6.774174009),
    (0.8498, -6.478861916), (0.8741, -6.159517513), (0.8061, -6.835647144), (0.846, -6.53165267),
    (0.8751, -6.224098421), (0.8856, -5.910094889), (0.8919, -5.598599459), (0.8934, -5.290645224),
    (0.894, -4.974284616), (0.8957, -4.64454848), (0.9047, -4.290560426), (0.9129, -3.885055584),
    (0.9209, -3.408378962), (0.9219, -3.13200249), (0.7739, -8.726767166), (0.7681, -8.66695597),
    (0.7665, -8.511026475), (0.7703, -8.165388579), (0.7702, -7.886056648), (0.7761, -7.588043762),
    (0.7809, -7.283412422), (0.7961, -6.995678626), (0.8253, -6.691862621), (0.8602, -6.392544977),
    (0.8809, -6.067374056), (0.8301, -6.684029655), (0.8664, -6.378719832), (0.8834, -6.065855188),
    (0.8898, -5.752272167), (0.8964, -5.132414673), (0.8963, -4.811352704), (0.9074, -4.098269308),
    (0.9119, -3.66174277), (0.9228, -3.2644011),
)

_FILIP_CERTIFIED = (
    (-1467.48961422980, 298.084530995537),
    (-2772.17959193342, 559.779865474950),
    (-2316.37108160893, 466.477572127796),
    (-1127.97394098372, 227.204274477751),
    (-354.478233703349, 71.6478660875927),
    (-75.1242017393757, 15.2897178747400),
    (-10.8753180355343, 2.23691159816033),
    (-1.06221498588947, 0.221624321934227),
    (-0.670191154593408e-01, 0.142363763154724e-01),
    (-0.246781078275479e-02, 0.535617408889821e-03),
    (-0.402962525080404e-04, 0.896632837373868e-05),
)

_NORRIS = (
    (0.1, 0.2), (338.8, 337.4), (118.1, 118.2), (888.0, 884.6), (9.2, 10.1), (228.1, 226.5),
    (668.5, 666.3), (998.5, 996.3), (449.1, 448.6), (778.9, 777.0), (559.2, 558.2), (0.3, 0.4),
    (0.1, 0.6), (778.1, 775.5), (668.8, 666.9), (339.3, 338.0), (448.9, 447.5), (10.8, 11.6),
    (557.7, 556.0), (228.3, 228.1), (998.0, 995.8), (888.8, 887.6), (119.6, 120.2), (0.3, 0.3),
    (0.6, 0.3), (557.6, 556.8), (339.3, 339.1), (888.0, 887.2), (998.5, 999.0), (778.9, 779.0),
    (10.2, 11.1), (117.6, 118.3), (228.9, 229.2), (668.4, 669.1), (449.2, 448.9), (0.2, 0.5),
)

_NORRIS_CERTIFIED = (
    (-0.262323073774029, 0.232818234301152),
    (1.00211681802045, 0.429796848199937e-03),
)

# fmt: on

LONGLEY = _from_table(
    "Longley",
    _LONGLEY,
    _LONGLEY_CERTIFIED,
    residual_sum_of_squares=836424.055505915,
    residual_standard_deviation=304.854073561965,
)

WAMPLER1 = _from_table(
    "Wampler1",
    _WAMPLER1,
    _WAMPLER1_CERTIFIED,
    degree=5,
    residual_sum_of_squares=0.0,
    residual_standard_deviation=0.0,
)

WAMPLER2 = _from_table(
    "Wampler2",
    _WAMPLER2,
    _WAMPLER2_CERTIFIED,
    degree=5,
    residual_sum_of_squares=0.0,
    residual_standard_deviation=0.0,
)

FILIP = _from_table(
    "Filip",
    _FILIP,
    _FILIP_CERTIFIED,
    degree=10,
    residual_sum_of_squares=0.795851382172941e-03,
    residual_standard_deviation=0.334801051324544e-02,
)

NORRIS = _from_table(
    "Norris",
    _NORRIS,
    _NORRIS_CERTIFIED,
    degree=1,
    residual_sum_of_squares=26.6173985294224,
    residual_standard_deviation=0.884796396144373,
)

ALL = (LONGLEY, WAMPLER1, WAMPLER2, FILIP, NORRIS)
