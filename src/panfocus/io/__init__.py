"""Read and write files: image formats, metadata, arrays on disk. Paths are opened only here."""
