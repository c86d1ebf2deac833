"""Certificates: the document, exact arithmetic, and the verifier, which needs no solver and no search."""

from partls.verification.verifier import Verification, verify

__all__ = ["Verification", "verify"]
