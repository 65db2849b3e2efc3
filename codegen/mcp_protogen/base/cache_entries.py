"""Results that are kept in the user's folder of caches, by a digest of what they were made from.

An entry is found by its name alone, and is used only if it has the content that was written under
that name, by the same user. Nothing depends on it: what cannot be read is not there, and what
cannot be written is not kept. Runs at the same time do no harm, because an entry appears under its
name when it is complete.
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
"""The environment variable with another folder, or with nothing, so that nothing is kept."""

_OURS = re.compile(r"[0-9a-f]{64}")
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
    return None if folder is None else read_verified(folder / shelf / name, used=True)


def write_entry(name: str, content: bytes, shelf: str = "") -> None:
    """Write an entry, and remove the oldest on its shelf if there are too many."""
    cache = user_cache()
    if cache is None:
        return
    folder = cache / shelf
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
            with suppress(OSError):  # another run has removed it, or it is nothing of ours
                file.unlink()


def with_digest(name: str, content: bytes) -> bytes:
    """Return what is written for an entry: a digest of its name and content, and the content."""
    return sha256(name.encode() + b"\n" + content).encode() + b"\n" + content


def read_verified(entry: Path, *, used: bool = False) -> bytes | None:
    """Return the content of an entry in any folder; with `used`, it counts as used now."""
    whole = read_private(entry, used=used) or b""
    content = whole.partition(b"\n")[2]
    return content if whole == with_digest(entry.name, content) else None
