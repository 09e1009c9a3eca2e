"""Kills at any moment, as far as a test can have them: from one change of the disk on, none happens."""

import os


class Killed(BaseException):
    """Nothing is done after that, no tidying up either."""


def killed_at(patch, n):
    """Let the n-th change of the disk, and all after it, not happen; return a list of those before."""
    changes = []

    def mortal(change):
        def changed(*arguments, **options):
            if len(changes) >= n - 1:
                raise Killed
            changes.append(arguments)
            return change(*arguments, **options)

        return changed

    for name in ("mkdir", "rename", "replace", "unlink", "rmdir"):
        patch.setattr(os, name, mortal(getattr(os, name)))
    return changes


def on_two_disks(patch, folder):
    """Let a folder be on a disk of its own: nothing is renamed into it from elsewhere, or out of it."""

    def rename(source, target, **options):
        if (folder in os.fspath(source)) != (folder in os.fspath(target)):
            raise OSError(18, "Invalid cross-device link")
        return renamed(source, target, **options)

    folder, renamed = os.fspath(folder), os.rename
    patch.setattr(os, "rename", rename)
