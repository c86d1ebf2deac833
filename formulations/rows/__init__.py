"""Rows of data: arrays, Dask collections and Parquet folders, and the triangle that they are compressed to."""
