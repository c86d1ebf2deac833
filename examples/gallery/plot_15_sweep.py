"""
Relaxations on a grid of instances
==================================

What each relaxation proves at the root, by the number of columns M, their correlation and the penalty eta, and the
performance profile of Dolan and Moré (2002): the share of the instances on which a relaxation closes 95% of the gap
within a multiple of the shortest time.
"""

import matplotlib.pyplot as plt

import partls
import relaxations
from formulations import random_instance

grid = {"M": [8, 12, 16], "correlation": [0.0, 0.9], "eta": [0.0, 10.0], "rows_per_column": [1.1], "group_size": [4]}
members = ["active-set", "strengthened", "perspective", "shor"]
sweep = relaxations.sweep(random_instance, members, grid=grid, optimum=partls.solve_instance)
sweep.plot(x="M", columns="correlation", rows="eta")
plt.show()

# %%
sweep.profile(target=0.95).plot()
plt.show()

# %%
print(sweep.table("eta"))
