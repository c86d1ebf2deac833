"""The sources of the kernel once more, run by Python: for small problems, while nothing is compiled.

``interpreted.walk`` is the file ``kernel/walk.py``, imported under this package's name. Its imports are relative, so
that it finds the ``compilation`` of this package, which compiles nothing, and never loads numba.
"""

from relaxations import kernel

__path__ = [*__path__, *kernel.__path__]
