"""Images larger than memory, from store to store: tiles that workers read, fuse and write by themselves."""
