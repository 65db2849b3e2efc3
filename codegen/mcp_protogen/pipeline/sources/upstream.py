"""Reading of a published schema from a file or a URL; no other module opens a connection.

Only plain files and http(s) are read; a URL may redirect, but not to another scheme, and not from
https to http. Proxies come from the usual environment variables (`https_proxy`, `no_proxy` and so
on). Problems do not show the user, password or query of a URL.
"""

import re
import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.config import GivenFile

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from urllib.request import OpenerDirector, Request

MAX_BYTES = 16 * 1024 * 1024
"""The largest size that is read; published files are below 200 kB."""
SILENCE_SECONDS = 20.0
TOTAL_SECONDS = 60.0
_CHUNK = 64 * 1024
_NOT_MODIFIED = 304
_GONE = frozenset({404, 410})
_SECRETS = re.compile(r"(?<=://)[^/?#]*@|[?#].*", re.DOTALL)
_URL = re.compile(r"\w+://[^\s'\"]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a web server.

    With an `etag`, the server sends the content only if it has changed. A `token`, or a user in the
    URL, is sent only to the host of the URL and not to redirects.
    """

    url: str
    etag: str = ""
    token: str = ""
    accept: str = "application/json, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """The answer of a web server; `content` is None if the ETag is still current."""

    content: bytes | None
    etag: str = ""


class NotThere(ProblemError):
    """Raised if a web server has no file at a URL."""


def read_file_or_url(source: str) -> GivenFile:
    """Read a file or URL that replaces a pin; raise as `read_source` does."""
    return GivenFile(source_name(source), read_source(source))


def read_source(source: str) -> bytes:
    """Return the bytes of a file path or an http, https or file URL.

    Raise `ProblemError` (`unreadable-source`) if it cannot be read, if a server is silent for 20
    seconds or needs more than 60, and beyond 16 MiB.
    """
    parts = _parts_of(source)
    if parts.scheme in {"http", "https"}:
        return ask(Question(source)).content or b""
    if parts.scheme == "file":
        return _read(_file_of(parts, source), source)
    if "://" in source:
        raise unreadable(source, f"the scheme {parts.scheme} is not supported")
    return _read(Path(source), source)


def source_name(source: str) -> str:
    """Return the name of a source in a lock: a file name, or a URL without user and query."""
    parts = _parts_of(source)
    if parts.scheme in {"http", "https"}:
        return without_secrets(source)
    return (_file_of(parts, source) if parts.scheme == "file" else Path(source)).name


def without_secrets(source: str) -> str:
    """Return a source that may be shown: a URL has no user, query or fragment."""
    return _SECRETS.sub("", source) if "://" in source else source


def is_as_safe(scheme: str, url: str) -> bool:
    """Return whether a redirect from `scheme` to `url` keeps its protection."""
    return scheme != "https" or urlsplit(url).scheme == "https"


def _parts_of(source: str) -> SplitResult:
    try:
        return urlsplit(source)
    except ValueError:
        raise unreadable(source, "it is not a valid URL") from None


def _file_of(parts: SplitResult, source: str) -> Path:
    if parts.netloc not in {"", "localhost"}:
        raise unreadable(source, "a file URL cannot name a host; write file:///path")
    return Path(unquote(parts.path))


def _read(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(source, error.strerror or str(error)) from error
    return _check_size(content, source)


def ask(question: Question) -> FetchedFile:
    """Return the answer of a web server, with the limits of `read_source`.

    Raise `ProblemError` (`unreadable-source`), or `NotThere` for a missing file.
    """
    from http.client import HTTPException, InvalidURL
    from urllib.error import HTTPError, URLError

    url = question.url

    def exchange() -> FetchedFile:
        with _opener().open(_request(question), timeout=SILENCE_SECONDS) as response:
            return FetchedFile(_check_size(_drain(response), url), response.headers.get("ETag", ""))

    try:
        return _in_time(exchange)
    except TimeoutError as error:
        raise unreadable(url, "the server took too long") from error
    except HTTPError as error:
        if error.code == _NOT_MODIFIED and question.etag:
            return FetchedFile(None, question.etag)
        problem = unreadable(url, f"HTTP {error.code} {error.reason}")
        raise (NotThere(*problem.problems) if error.code in _GONE else problem) from error
    except URLError as error:
        raise unreadable(url, str(error.reason)) from error
    except (InvalidURL, ValueError) as error:  # their texts may quote secrets
        message = "it is not a valid URL, or its headers cannot be sent"
        raise unreadable(url, message) from error
    except (OSError, HTTPException) as error:
        raise unreadable(url, str(error)) from error


def _in_time(exchange: Callable[[], FetchedFile]) -> FetchedFile:
    """Return the result of an exchange; raise `TimeoutError` if it takes too long in total.

    It runs in a thread, because the timeout of a socket starts again with every byte and redirect,
    and does not limit name lookups.
    """
    from concurrent.futures import Future

    answer: Future[FetchedFile] = Future()

    def work() -> None:
        try:
            answer.set_result(exchange())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return answer.result(TOTAL_SECONDS)


def _request(question: Question) -> "Request":
    from urllib.request import Request

    parts = urlsplit(question.url)
    user, _, host = parts.netloc.rpartition("@")
    url = parts._replace(netloc=host, fragment="").geturl()
    request = Request(url, headers={"Accept": question.accept})
    if question.etag:
        request.add_header("If-None-Match", question.etag)
    basic = f"Basic {b64encode(unquote(user).encode()).decode()}" if user else ""
    authorization = f"Bearer {question.token}" if question.token else basic
    if authorization:  # a redirect must not carry it elsewhere
        request.add_unredirected_header("Authorization", authorization)
    return request


def _drain(response: Any) -> bytes:
    content = bytearray()
    while len(content) <= MAX_BYTES and (chunk := response.read1(_CHUNK)):
        content += chunk
    if response.length and len(content) <= MAX_BYTES:  # the length that is still missing
        raise ConnectionError("the connection ended too early")
    return bytes(content)


def _opener() -> "OpenerDirector":
    """Return an opener for http and https only; the default one also reads local files and ftp."""
    from urllib import request as urllib
    from urllib.error import URLError

    class SameOrSafer(urllib.HTTPRedirectHandler):
        def redirect_request(
            self, req: "Request", fp: Any, code: int, msg: str, headers: "HTTPMessage", newurl: str
        ) -> "Request | None":
            """Return the next request; the parameters are those of the standard library."""
            if not is_as_safe(req.type, newurl):
                raise URLError("it redirects from https to a less safe place")
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


def _check_size(content: bytes, source: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise unreadable(source, f"it is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return content


def unreadable(source: str, reason: str) -> ProblemError:
    """Return the problem of a source that cannot be read; its secrets are not shown."""
    shown = _URL.sub(lambda found: without_secrets(found[0]), reason)
    # The text comes from a server, which must not control a terminal with it.
    harmless = "".join(character if character.isprintable() else " " for character in shown)
    message = f"nothing could be read: {harmless}"
    return ProblemError(Problem("unreadable-source", message, without_secrets(source)))
