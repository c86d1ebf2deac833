"""Proofs of fitted models: written by ``fit`` beside the model, and checked against the data by ``verify``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.blocks import in_blocks
from partls.prove.proof_file import write_proof
from partls.result import Result
from partls.runtime.interrupts import keyboard
from partls.runtime.options import a_priori_signs
from partls.solve import proof_path
from partls.strategies.choose import as_strategy
from partls.verification import Verification, verify

logger = logging.getLogger("partls")


class ProofMixin:
    """Write the proof of each target's final model, and verify it."""

    if TYPE_CHECKING:  # what the estimator has
        certificate: Any
        method: Any
        signs: Any
        gap_tol: float
        partition_: Any
        result_: Any
        coef_: Any

        def _checked(self, X: Any) -> Any: ...

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verification | tuple[Verification, ...]:
        """Verify the certificate that ``fit`` has written against the data, without any solver.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit, in memory.

        Returns
        -------
        Verification or tuple of Verification
            What is proved; for y of two dimensions, one for each target.

        Raises
        ------
        VerificationError
            If a certificate does not prove its claim for these data.
        InvalidInput
            If the model has no certificate.
        """
        check_is_fitted(self)
        paths = getattr(self, "certificate_", None)
        if paths is None:
            raise InvalidInput("there is no certificate to verify: fit the model with certificate=path")
        if in_blocks(X):
            raise InvalidInput("verify needs every row of X in memory, as it was fitted")
        X, targets = self._checked(X), np.asarray(y, np.float64)
        X = X.toarray() if sparse.issparse(X) else X
        several = isinstance(paths, tuple)
        if targets.ndim != 1 + several or (several and targets.shape[1] != len(paths)):
            wanted = f"{len(paths)} columns" if several else "one dimension"
            raise InvalidInput(f"y has the shape {targets.shape}: the model was fitted to a y of {wanted}")
        found = tuple(
            verify(path, X, target, self.partition_, sample_weight=sample_weight, ungrouped="free", signs=self.signs,
                   gap_tol=self.gap_tol or 0.0)
            for path, target in zip(paths if several else [paths], np.atleast_2d(targets.T), strict=True)
        )
        return found if several else found[0]

    def _check_certificate(self, X: Any) -> None:
        """Refuse a certificate where there can be none, before the work begins."""
        if self.certificate is None:
            return
        if in_blocks(X):
            raise InvalidInput("certificate needs every row of X in memory: leave it out for data in blocks")
        proof_path(self.certificate, as_strategy(self.method, {}))

    def _certificate_paths(self, y: Floats) -> list[Path]:
        """Return where the proofs go, one for each target."""
        if self.certificate is None:
            return []
        path, strategy = Path(self.certificate), as_strategy(self.method, {})
        paths = [path] if y.ndim == 1 else [proof_of_target(path, k) for k in range(y.shape[1])]
        return [found for one in paths if (found := proof_path(one, strategy)) is not None]

    def _write_proofs(self, paths: list[Path], results: tuple[Result, ...], time_limit: float | None) -> None:
        """Write the proof of each model, each within the time limit; a proof that fails leaves the model as it is."""
        self.__dict__.pop("certificate_", None)  # that of an earlier fit
        if not paths:
            return
        proofs = []
        with keyboard() as keys:
            for path, result in zip(paths, results, strict=True):
                root = a_priori_signs(result.instance, self.signs)
                proofs.append(write_proof(result, root, path, self.gap_tol or 0.0, time_limit, keys))
        for proof in proofs:
            if proof.problem:
                logger.warning("%s", proof.problem)
        if not any(proof.not_written for proof in proofs):
            self.certificate_ = tuple(paths) if np.ndim(self.coef_) == 2 else paths[0]


def proof_of_target(path: Path, k: int) -> Path:
    """Return the path with the number of a target, from 0, before the suffix: "proof-0.json.gz"."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return path.with_name(f"{path.name.removesuffix(suffix)}-{k}{suffix}")
