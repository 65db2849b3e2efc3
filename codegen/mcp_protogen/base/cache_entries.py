"""Results in the user's cache folder, named by a digest of their inputs.

An entry is used only if the same user wrote this content under this name. Unreadable entries count
as missing, and failures to write are ignored. Concurrent runs are safe, because an entry gets its
name only when it is complete.
"""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.private_files import read_private
from mcp_protogen.base.problems import ProblemError

VARIABLE = "MCP_GEN_CACHE"
"""The environment variable with another folder; empty turns the cache off."""

_OURS = re.compile(r"[0-9a-f]{64}")
_LIMIT = 32
"""The largest number of entries; the least recently used ones are removed."""


def user_cache() -> Path | None:
    """Return the cache folder of mcp-gen; None without a cache."""
    if (own := os.environ.get(VARIABLE)) is not None:
        return Path(own) if own else None
    with suppress(RuntimeError):  # the home folder is unknown
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


def read_entry(name: str, subfolder: str = "") -> bytes | None:
    """Return the content of an entry if it exists and is intact.

    A subfolder has its own limit of entries.
    """
    folder = user_cache()
    return None if folder is None else read_verified(folder / subfolder / name, used=True)


def write_entry(name: str, content: bytes, subfolder: str = "") -> None:
    """Write an entry, and remove the oldest ones of its folder beyond the limit."""
    cache = user_cache()
    if cache is None:
        return
    folder = cache / subfolder
    with suppress(OSError, ProblemError):
        for private in (cache, folder):
            private.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_files(
            {folder / name: with_digest(name, content)},
            folder / "entries",
            mode=0o600,
            durable=False,
        )
        ours = (file for file in folder.iterdir() if _OURS.fullmatch(file.name))
        for file in sorted(ours, key=lambda file: file.lstat().st_mtime)[:-_LIMIT]:
            with suppress(OSError):  # another run has removed it, or it is not a file
                file.unlink()


def with_digest(name: str, content: bytes) -> bytes:
    """Return the bytes of an entry's file: a digest of its name and content, and the content."""
    return sha256(name.encode() + b"\n" + content).encode() + b"\n" + content


def read_verified(entry: Path, *, used: bool = False) -> bytes | None:
    """Return the content of an entry in any folder; `used` updates its time of use."""
    whole = read_private(entry, used=used) or b""
    content = whole.partition(b"\n")[2]
    return content if whole == with_digest(entry.name, content) else None
