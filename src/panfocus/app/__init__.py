"""`panfocus app`: a local page to fuse stacks, inspect and retouch results, and export them."""
