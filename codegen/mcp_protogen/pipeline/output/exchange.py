"""The exchange of two folders in one step, if the system can do that.

Linux (`renameat2`) and macOS (`renamex_np`) swap two names atomically; Python has neither function,
so they are called through the C library. Elsewhere the caller must find another way.
"""

import errno
import os
import sys
from pathlib import Path

_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_HERE = -100  # AT_FDCWD of <fcntl.h>
_SWAP = 2  # RENAME_EXCHANGE of <linux/fs.h>, and RENAME_SWAP of <sys/stdio.h>


def exchange(one: Path, other: Path) -> bool:
    """Swap two existing folders of one file system atomically; return whether that is supported.

    Without support by the system or the file system, do nothing and return False. Raise `OSError`
    for other failures: no permission, a mount point, no such folder.
    """
    if sys.platform not in {"linux", "darwin"}:
        return False
    import ctypes  # not needed by runs that write nothing

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, _SWAP)
        else:
            failed = library.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
    except AttributeError:  # a C library older than the call
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(other))
