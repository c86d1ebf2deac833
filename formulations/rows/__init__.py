"""Rows of data: arrays, Dask collections and Parquet folders, and the triangle that stands for them."""
