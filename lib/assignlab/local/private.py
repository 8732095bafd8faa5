"""Folders in which only this user writes: what lies in them is executed when it is read again.

Read by `assignlab.local.java` before there is an environment: standard library only, and syntax
that every Python reads.
"""

import os
import stat
import tempfile


def cache_folder():
    """The user's cache folder of assignlab, closed to others.

    It lies in ``XDG_CACHE_HOME`` or ``~/.cache``; where that cannot be written, in the temporary
    folder; where somebody else was there first, it is a fresh one, which no later process finds.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    home = named if os.path.isabs(named) else os.path.join(os.path.expanduser("~"), ".cache")
    for folder in (
        os.path.join(home, "assignlab"),
        os.path.join(tempfile.gettempdir(), "assignlab-" + str(os.getuid())),
    ):
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            if is_private(folder) and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return tempfile.mkdtemp(prefix="assignlab-")


def is_private(folder):
    """Whether this is a folder of this user's (no link to one), closed to all others."""
    found = os.lstat(folder)
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )
