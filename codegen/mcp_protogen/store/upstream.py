"""Fetching a published schema from a file or a URL: the only module that opens a connection.

It returns bytes and judges none of them. Only plain files and http(s) are read; a URL may
redirect, but neither to another kind of place nor from https to http.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from mcp_protogen.problems import Problem, ProblemError

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from urllib.request import OpenerDirector, Request

MAX_BYTES = 16 * 1024 * 1024
"""The published files are below 200 kB; anything near this bound is not one of them."""
SILENCE_SECONDS = 20.0
TOTAL_SECONDS = 60.0
_CHUNK = 64 * 1024


def read_source(source: str) -> bytes:
    """The bytes of a file path or an http, https or file URL.

    Raises `ProblemError` (`unreadable-source`) when there is nothing to read, when a server is
    silent for 20 seconds or slow for 60, and beyond 16 MiB.
    """
    parts = urlsplit(source)
    if parts.scheme in {"http", "https"}:
        return _fetch(source)
    if parts.scheme == "file":
        return _read(_file_of(parts, source), source)
    if "://" in source:
        raise _unreadable(source, f"{parts.scheme} is not a scheme that is read from")
    return _read(Path(source), source)


def source_name(source: str) -> str:
    """How a source is called in a lock: a file by its name, a URL without user or query."""
    parts = urlsplit(source)
    if parts.scheme in {"http", "https"}:
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    return (_file_of(parts, source) if parts.scheme == "file" else Path(source)).name


def is_as_safe(scheme: str, url: str) -> bool:
    """Whether a redirect from a place with `scheme` to `url` loses no protection."""
    return scheme != "https" or urlsplit(url).scheme == "https"


def _file_of(parts: SplitResult, source: str) -> Path:
    if parts.netloc not in {"", "localhost"}:
        raise _unreadable(source, "a file URL cannot name a host; write file:///path")
    return Path(unquote(parts.path))


def _read(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(source, error.strerror or str(error)) from error
    return _bounded(content, source)


def _fetch(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request

    try:
        request = Request(url, headers={"Accept": "application/json, */*;q=0.1"})
        with _opener().open(request, timeout=SILENCE_SECONDS) as response:
            return _bounded(_drain(response), url)
    except TimeoutError as error:
        raise _unreadable(url, "the server took too long") from error
    except HTTPError as error:
        raise _unreadable(url, f"HTTP {error.code} {error.reason}") from error
    except URLError as error:
        raise _unreadable(url, str(error.reason)) from error
    except (OSError, HTTPException, ValueError) as error:
        raise _unreadable(url, str(error)) from error


def _drain(response: Any) -> bytes:
    deadline = time.monotonic() + TOTAL_SECONDS
    content = bytearray()
    while len(content) <= MAX_BYTES and (chunk := response.read1(_CHUNK)):
        content += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length and len(content) <= MAX_BYTES:  # what is still to come
        raise ConnectionError("the connection ended too early")
    return bytes(content)


def _opener() -> "OpenerDirector":
    """An opener for http and https alone; the usual one also reads local files and ftp."""
    from urllib import request as urllib

    class SameOrSafer(urllib.HTTPRedirectHandler):
        def redirect_request(
            self, req: "Request", fp: Any, code: int, msg: str, headers: "HTTPMessage", newurl: str
        ) -> "Request | None":
            """What to ask for next; the parameters are those of the standard library."""
            if not is_as_safe(req.type, newurl):
                raise ValueError("it redirects from https to a place that is less safe")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    opener = urllib.OpenerDirector()
    for handler in (
        urllib.ProxyHandler(),
        urllib.HTTPHandler(),
        urllib.HTTPSHandler(),
        urllib.HTTPDefaultErrorHandler(),
        urllib.HTTPErrorProcessor(),
        urllib.UnknownHandler(),
        SameOrSafer(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", "mcp-gen")]
    return opener


def _bounded(content: bytes, source: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise _unreadable(source, f"it is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return content


def _unreadable(source: str, reason: str) -> ProblemError:
    return ProblemError(Problem("unreadable-source", f"nothing could be read: {reason}", source))
