"""What web servers have answered, kept with its ETags in a folder that the user names.

Nothing here is trusted: an entry that is not whole is asked for anew. Entries are found by a digest
of the URL, which may hold a token that is nobody's business. Without a folder nothing is kept.
"""

import json
from pathlib import Path

from mcp_protogen.canonical import sha256
from mcp_protogen.jsonvalue import is_object
from mcp_protogen.output.files import replace_files, writing
from mcp_protogen.store.upstream import Answer, NotThere, Question, ask, without_secrets


def read(url: str, cache: Path | None = None, token: str = "") -> bytes | None:
    """The content of a URL, or None if there is none; asks for what is not in `cache` as it is now.

    Raises `ProblemError`: `unreadable-source`, or `cannot-write` for the cache.
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


def _kept(entry: Path, url: str) -> Answer | None:
    """What is kept of a URL, if the entry is whole."""
    try:
        head, _, content = entry.read_bytes().partition(b"\n")
        said = json.loads(head)
    except (OSError, ValueError):
        return None
    expected = (without_secrets(url), sha256(content))
    if not is_object(said) or (said.get("url"), said.get("sha256")) != expected:
        return None
    etag = said.get("etag")
    # A header holds printable characters of Latin-1 and nothing else.
    return Answer(content, etag) if isinstance(etag, str) and _is_sendable(etag) else None


def _keep(entry: Path, url: str, etag: str, content: bytes) -> None:
    if not _is_sendable(etag):
        return
    said = {"etag": etag, "sha256": sha256(content), "url": without_secrets(url)}
    with writing(entry.parent, "name another folder with --cache, or leave it out"):
        replace_files({entry: json.dumps(said).encode() + b"\n" + content})


def _is_sendable(etag: str) -> bool:
    return bool(etag) and etag.isprintable() and etag.isascii()
