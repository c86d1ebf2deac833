"""Who explores elsewhere: threads, processes and the workers of a Dask cluster."""
