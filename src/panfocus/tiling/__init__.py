"""Run a method on images of any size: whole, in tiles, or lazily with Dask, with the same bits."""
