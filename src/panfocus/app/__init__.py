"""`panfocus app`: a page on this computer to drop a stack on, watch it fuse, check it and mend it."""
