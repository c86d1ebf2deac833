"""
Watching a search close its gap
===============================

The objective of the best model falls, the certified bound rises, and when they meet the model is proven optimal. Forty
groups here: there are 2^40 sign patterns.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls

rng = np.random.default_rng(4)
X = np.sqrt(0.1) * rng.normal(size=(170, 160)) + np.sqrt(0.9) * rng.normal(size=(170, 1))
y = X @ rng.normal(size=160) + rng.normal(size=170)
model = partls.PartLSRegressor(np.arange(160) % 40).fit(X, y)

model.plot_search_progress()
plt.gcf().set_size_inches(7, 3.4)
plt.show()

# %%
print(f"{model.status_.value}: {model.n_iter_} nodes of a tree with 2^40 leaves")
