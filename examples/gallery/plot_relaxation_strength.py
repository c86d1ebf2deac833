"""
Strength against time of the lower bounds
=========================================

What each relaxation proves at the root, as a share of the gap between plain least squares and the optimum, against the
time it takes. The cheap bound stands at zero by definition, and is a thousand times faster than the others.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls
import relaxations

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 20)) + 1.5 * rng.normal(size=(60, 1))
y = X @ rng.normal(size=20) + rng.normal(size=60)
instance = partls.Instance(X, y, np.arange(20) % 5)
comparison = relaxations.compare(instance)

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
comparison.plot(ax)
plt.show()
