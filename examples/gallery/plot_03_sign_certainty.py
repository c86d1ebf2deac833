"""
How sure is each sign?
======================

The exact price of the opposite sign: the group is forced to the other side and everything else is fitted again to
optimality. A bar near zero means that these data cannot tell the direction.
"""

import matplotlib.pyplot as plt
import pandas as pd

import partls
from partls.demo import GROUPS, diabetes

study = diabetes()
X = pd.DataFrame(study.X, columns=study.partition.columns)
model = partls.PartLSRegressor(GROUPS).fit(X, study.y)
model.plot_sign_certainty()
plt.gcf().set_size_inches(7, 3)
plt.show()

# %%
print(model.sign_certainty(within=0.02))
