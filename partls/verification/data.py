"""The numbers of a problem, as its owner gives them to the verifier, and their fingerprint."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.data import as_matrix, as_vector, column_names
from formulations.errors import InvalidInput
from formulations.partition import Partition
from partls.verification.exact_integers import Floats
from partls.verification.problem import Problem


@dataclass(frozen=True, eq=False)
class Data:
    """The numbers of the problem as the user gives them."""

    X: Floats
    y: Floats
    partition: Partition
    weights: Floats | None

    @classmethod
    def read(cls, X: Any, y: Any, groups: Any, sample_weight: Any, ungrouped: str) -> Data:
        """Return the data as checked arrays."""
        names = column_names(X)
        table = as_matrix(X, names)
        partition = Partition.of(groups, n_columns=table.shape[1], columns=names, ungrouped=ungrouped)
        weights = None if sample_weight is None else as_vector(sample_weight, "sample_weight", len(table))
        if weights is not None and (weights < 0).any():
            raise InvalidInput("sample_weight has negative values: weights must be >= 0")
        return cls(table, as_vector(y, "y", len(table)), partition, weights)

    def digest(self, problem: Problem) -> str:
        """Return the SHA-256 of the problem and of every number in the data."""
        hashed = hashlib.sha256(json.dumps(problem.identity(), sort_keys=True).encode())
        weights = np.ones(0) if self.weights is None else self.weights
        for array in (self.X, self.y, self.partition.labels, weights):
            kind = "<f8" if array.dtype.kind == "f" else "<i8"
            hashed.update(f"{array.shape}".encode())
            hashed.update(np.ascontiguousarray(array + 0, dtype=kind).tobytes())  # -0.0 + 0 is 0.0
        return hashed.hexdigest()
