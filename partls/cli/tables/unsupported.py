"""Files of arrays and columns that are not read: known by their first bytes, so that a message can say what to do."""

from __future__ import annotations

_STARTS = {
    b"\xff\xff\xff\xff": "is an Arrow stream: save it as a Feather (Arrow IPC) or Parquet file",
    b"FEA1": "is a Feather file of version 1: save it as Feather version 2 or as Parquet",
    b"\x93NUMPY": "is a single NumPy array: save it with its column names as an NPZ file, by numpy.savez",
    b"PK\x05\x06": "is an empty zip archive: write the NPZ file again, by numpy.savez",
    b"\x89HDF\r\n\x1a\n": "is an HDF5 file: save the table in it as Parquet or CSV",
    b"BZh": "is packed by bzip2: unpack it first, or pack it by gzip",
    b"\xfd7zXZ\x00": "is packed by xz: unpack it first, or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "is packed by zstd: unpack it first, or pack it by gzip",
}


def unsupported(start: bytes) -> str:
    """Return what a file that begins so is and what to do with it, to follow its name; "" for all that is read."""
    return next((told for mark, told in _STARTS.items() if start.startswith(mark)), "")
