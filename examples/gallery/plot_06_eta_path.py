"""
Effects along the penalty
=========================

The penalty acts on the groups' effects, not on single coefficients. Strong penalties shrink all effects; on the way a
group may change its sign, because the best signs are found anew for every eta.
"""

import matplotlib.pyplot as plt
import numpy as np

import partls
from partls.demo import diabetes

study = diabetes()
etas = np.geomspace(1e-3, 30, 25)
paths = np.array([partls.solve_instance(study.replace(eta=eta)).beta for eta in etas])

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for k, name in enumerate(study.partition.names):
    ax.plot(etas, paths[:, k], marker=".", label=name)
ax.axhline(0, color="black", linewidth=1)
ax.set(xscale="log", xlabel="eta", ylabel="beta", title="Four effects, each point proven optimal")
ax.legend(frameon=False)
plt.show()
