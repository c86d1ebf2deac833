"""Groups of columns: the partition, the forms and files it comes in, and its pairing with columns by name."""

from formulations.partition.partition import Partition

__all__ = ["Partition"]
