"""The answers of web servers, kept with their ETags in a folder that the user names.

The cache is not trusted: an incomplete entry is asked for again. Entries are found by a digest of
the URL, because the URL may contain a secret token. Without a folder, nothing is kept.
"""

import json
from pathlib import Path

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.files import writing
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.private_files import read_private
from mcp_protogen.pipeline.sources.upstream import (
    FetchedFile,
    NotThere,
    Question,
    ask,
    without_secrets,
)


def read(url: str, cache: Path | None = None, token: str = "") -> bytes | None:
    """Return the content of a URL, or None if there is none.

    The server is asked whether an entry of `cache` is still current. Raise `ProblemError`:
    `unreadable-source`, or `cannot-write` for the cache.
    """
    entry = None if cache is None else cache / sha256(url.encode())
    kept = None if entry is None else _kept(entry, url)
    try:
        answer = ask(Question(url, kept.etag if kept else "", token))
    except NotThere:
        return None
    if answer.content is None:
        return kept.content if kept else None
    if entry is not None and answer.etag:
        _keep(entry, url, answer.etag, answer.content)
    return answer.content


def _kept(entry: Path, url: str) -> FetchedFile | None:
    """Return the cached answer for a URL, if the entry is complete."""
    try:
        head, _, content = (read_private(entry) or b"").partition(b"\n")
        said = json.loads(head)
    except ValueError:
        return None
    expected = (without_secrets(url), sha256(content))
    if not is_object(said) or (said.get("url"), said.get("sha256")) != expected:
        return None
    etag = said.get("etag")
    # A header may only contain printable characters of Latin-1.
    return FetchedFile(content, etag) if isinstance(etag, str) and _is_sendable(etag) else None


def _keep(entry: Path, url: str, etag: str, content: bytes) -> None:
    if not _is_sendable(etag):
        return
    said = {"etag": etag, "sha256": sha256(content), "url": without_secrets(url)}
    files = {entry: json.dumps(said).encode() + b"\n" + content}
    hint = "name another folder with --cache, or leave the option out"
    with writing(entry, hint):  # a folder or file in which others can write is not read again
        entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_files(files, entry.with_name("entries"), hint=hint, mode=0o600)


def _is_sendable(etag: str) -> bool:
    return bool(etag) and etag.isprintable() and etag.isascii()
