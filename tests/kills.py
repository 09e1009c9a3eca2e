"""Simulate kills at every change of the disk, and two disks."""

import os


class Killed(BaseException):
    """Raised in place of a change of the disk. Clean-up code cannot change the disk either."""


def killed_at(patch, n):
    """Raise `Killed` at the n-th change of the disk and at all later ones; return a list of those before."""
    changes = []

    def fail_later(change):
        def wrapper(*arguments, **options):
            if len(changes) >= n - 1:
                raise Killed
            changes.append(arguments)
            return change(*arguments, **options)

        return wrapper

    for name in ("mkdir", "rename", "replace", "unlink", "rmdir"):
        patch.setattr(os, name, fail_later(getattr(os, name)))
    return changes


def on_two_disks(patch, folder):
    """Let `os.rename` fail between a folder and the rest of the disk, as if it were another disk."""

    def rename(source, target, **options):
        if (folder in os.fspath(source)) != (folder in os.fspath(target)):
            raise OSError(18, "Invalid cross-device link")
        return true_rename(source, target, **options)

    folder, true_rename = os.fspath(folder), os.rename
    patch.setattr(os, "rename", rename)
