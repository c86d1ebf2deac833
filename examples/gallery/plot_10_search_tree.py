"""
The tree of a search
====================

Every node decides the sign of one more group. Most branches end after a few decisions, because their bound already
exceeds the best model known.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(4)
X = np.sqrt(0.1) * rng.normal(size=(300, 100)) + np.sqrt(0.9) * rng.normal(size=(300, 1))
y = X @ rng.normal(size=100) + rng.normal(size=300)
model = partls.PartLSRegressor(np.arange(100) % 10).fit(X, y)

model.plot_search_tree()
plt.gcf().set_size_inches(9, 4)
plt.show()
