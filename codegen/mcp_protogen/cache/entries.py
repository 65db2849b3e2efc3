"""Results that are kept in the user's folder of caches, by a digest of what they were made from.

An entry is found by its name alone, and is used only if it has the content that was written under
that name, by the same user. Nothing depends on it: what cannot be read is not there, and what
cannot be written is not kept. Runs at the same time do no harm, because an entry appears under its
name when it is complete.
"""

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from threading import get_ident

from mcp_protogen.base.canonical import sha256

VARIABLE = "MCP_GEN_CACHE"
"""The environment variable with another folder, or with nothing, so that nothing is kept."""

# Entries, and what runs have left that were killed while they wrote one.
_OURS = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\.\d+\.\d+")
_LIMIT = 32
"""The number of entries; those that were not used for the longest time are removed."""


def user_cache() -> Path | None:
    """Return the folder for our entries, where the system has such folders; None for no entries."""
    if (own := os.environ.get(VARIABLE)) is not None:
        return Path(own) if own else None
    with suppress(RuntimeError):  # nobody's home is known
        if given := os.environ.get("XDG_CACHE_HOME"):
            # A relative path is invalid: https://specifications.freedesktop.org/basedir-spec
            return Path(given) / "mcp-gen" if os.path.isabs(given) else None
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return Path(local) / "mcp-gen" / "Cache" if local else None
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "mcp-gen"
        return Path.home() / ".cache" / "mcp-gen"
    return None


def read_entry(name: str, shelf: str = "") -> bytes | None:
    """Return the content of an entry, if it is there and whole.

    A shelf is a folder in the cache, with a number of entries of its own.
    """
    folder = user_cache()
    if folder is None:
        return None
    entry = folder / shelf / name
    try:
        if not _is_own_file(entry.stat()):
            return None
        said, _, content = entry.read_bytes().partition(b"\n")
        if said != _seal(name, content):
            return None
        with suppress(OSError):
            os.utime(entry)  # it has been used
    except OSError:
        return None
    return content


def keep_entry(name: str, content: bytes, shelf: str = "") -> None:
    """Write an entry, and remove the oldest on its shelf if there are too many."""
    cache = user_cache()
    if cache is None:
        return
    folder = cache / shelf
    temporary = folder / f".{name}.{os.getpid()}.{get_ident()}"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            temporary.write_bytes(_seal(name, content) + b"\n" + content)
            os.replace(temporary, folder / name)
        finally:
            temporary.unlink(missing_ok=True)
        ours = (file for file in folder.iterdir() if _OURS.fullmatch(file.name))
        for file in sorted(ours, key=lambda file: file.lstat().st_mtime)[:-_LIMIT]:
            with suppress(OSError):  # another run has removed it, or it is nothing of ours
                file.unlink()


def _is_own_file(found: os.stat_result) -> bool:
    own = sys.platform == "win32" or found.st_uid == os.geteuid()
    return own and stat.S_ISREG(found.st_mode)


def _seal(name: str, content: bytes) -> bytes:
    """Return the digest by which an entry is known to be the one of its name."""
    return sha256(name.encode() + b"\n" + content).encode()
