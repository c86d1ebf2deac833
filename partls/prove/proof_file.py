"""Write the proof of an answer to a file. The answer outlives its proof: what goes wrong is reported, not raised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulations.signs import SignPattern
from partls.result import Result
from partls.runtime.interrupts import Keyboard, raising
from relaxations.interpreter import interpreted_first, is_small


@dataclass(frozen=True)
class ProofFile:
    """What became of a proof.

    Attributes
    ----------
    path
        Where it was to be written.
    lacks
        What the proof that was written proves instead of the optimum; empty if it is complete.
    not_written
        Why no proof was written; empty if one was.
    interrupted
        Whether Ctrl-C was the reason.
    """

    path: Path
    lacks: str = ""
    not_written: str = ""
    interrupted: bool = False

    @property
    def problem(self) -> str:
        """One line about what is missing, or nothing."""
        if self.not_written:
            return f"the certificate {self.path} is not written: {self.not_written}"
        return f"the certificate {self.path} proves {self.lacks}" if self.lacks else ""


def write_proof(
    result: Result, root: SignPattern, path: Path, gap_tol: float, time_limit: float | None, keys: Keyboard,
    **details: Any,
) -> ProofFile:
    """Write the proof of an answer under the signs ``root``, and return what became of it.

    Ctrl-C gives the proof up, as do a file that cannot be written and data too large for the time limit. ``details``
    go to ``certify``.
    """
    from partls.prove import certificate  # only those who ask for a proof load what writes it

    try:
        with raising(keys):
            lacks = interpreted_first(
                lambda: certificate.certify(result, root, path, gap_tol, time_limit, **details),
                small=is_small(result.instance),
            )
            return ProofFile(path, lacks=lacks)
    except KeyboardInterrupt:
        return ProofFile(path, not_written="interrupted", interrupted=True)
    except OSError as error:  # a TimeoutError too
        return ProofFile(path, not_written=error.strerror or str(error))
