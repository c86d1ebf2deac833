"""Ways to solve them: each module defines subclasses of ``benchmarks.contract.Method``."""
