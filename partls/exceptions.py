"""The exceptions of the toolkit: everything it raises on purpose derives from ``PartLSError``."""

from formulations.errors import InvalidInput, PartLSError, VerificationError, WorkersLost

__all__ = ["InvalidInput", "PartLSError", "VerificationError", "WorkersLost"]
