"""Fuse images larger than memory, from store to store: workers read, fuse and write tiles, and can resume."""
