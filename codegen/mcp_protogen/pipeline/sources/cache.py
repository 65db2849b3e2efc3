"""A cache for answers of web servers, with their ETags, in a folder that the user names.

The cache is not trusted: an incomplete entry is fetched again. The name of an entry is a digest of
the URL, because that may contain a secret token.
"""

from pathlib import Path

from mcp_protogen.base.cache_entries import read_verified, with_digest
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.files import writing
from mcp_protogen.pipeline.sources.upstream import FetchedFile, NotThere, Question, ask


def read(url: str, cache: Path | None = None, token: str = "") -> bytes | None:
    """Return the content of a URL, or None for a missing page.

    Entries of `cache` are revalidated. Raise `ProblemError`: `unreadable-source`, or `cannot-write`
    for the cache.
    """
    entry = None if cache is None else cache / sha256(url.encode())
    cached = None if entry is None else _read_entry(entry)
    try:
        answer = ask(Question(url, cached.etag if cached else "", token))
    except NotThere:
        return None
    if answer.content is None:
        return cached.content if cached else None
    if entry and _is_sendable(answer.etag):
        _write_entry(entry, answer.etag.encode() + b"\n" + answer.content)
    return answer.content


def _read_entry(entry: Path) -> FetchedFile | None:
    head, _, content = (read_verified(entry) or b"").partition(b"\n")
    etag = head.decode("latin-1")
    return FetchedFile(content, etag) if _is_sendable(etag) else None


def _is_sendable(etag: str) -> bool:
    # A header may contain only printable characters of Latin-1.
    return bool(etag) and etag.isprintable() and etag.isascii()


def _write_entry(entry: Path, content: bytes) -> None:
    hint = "name another folder with --cache, or leave the option out"
    with writing(entry, hint):  # folders and files that others can write are not read again
        entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = {entry: with_digest(entry.name, content)}
    write_files(files, entry.with_name("entries"), hint=hint, mode=0o600)
