"""A made-up specification: a folder, a clone or a server, and fitting pins."""

import json
import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mcp_protogen.instep.update.candidates import Candidate, Candidates, RevisionFilter, look
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.sources.opening import open_source
from support.programs import run_program
from support.revisions import NEIGHBOURS

Json = dict[str, Any]
OLDER, NEWEST = NEIGHBOURS[-1]


@dataclass(frozen=True, slots=True)
class Spec:
    """A folder with the layout of the specification, and a schema folder pinned to it."""

    folder: Path
    schema: Path

    def path(self, revision: str) -> Path:
        return self.folder / "schema" / revision / "schema.json"

    def write(self, revision: str, content: bytes) -> bytes:
        self.path(revision).parent.mkdir(parents=True, exist_ok=True)
        self.path(revision).write_bytes(content)
        return content

    def edit(self, revision: str, change: Callable[[Json], None], to: str | None = None) -> bytes:
        """Change the file of a revision, or copy it under another name."""
        document = json.loads(self.path(revision).read_bytes())
        change(document)
        return self.write(to or revision, json.dumps(document).encode())

    def digest(self, revision: str) -> str:
        return sha256(self.path(revision).read_bytes()).hexdigest()

    def look(self, *names: str, ignored: tuple[str, ...] = ()) -> Candidates:
        """Compare the folder with the pins."""
        source = open_source(str(self.folder), None, None)
        return look(source, load_pins(self.schema), RevisionFilter(names, ignored))

    def candidate(self, revision: str) -> Candidate:
        (found,) = self.look(revision).candidates
        return found


def reword(document: Json) -> None:
    """Change only prose."""
    document["$defs"]["Tool"]["description"] = "Something new to say."


def with_an_owner(document: Json) -> None:
    """Add a required owner to tools."""
    document["$defs"]["Tool"]["properties"]["owner"] = {"type": "string"}
    document["$defs"]["Tool"]["required"].append("owner")


def with_things(document: Json) -> None:
    """Add a method."""
    request = json.loads(json.dumps(document["$defs"]["ListToolsRequest"]))
    request["properties"]["method"]["const"] = "things/list"
    document["$defs"]["ListThingsRequest"] = request
    document["$defs"]["ClientRequest"]["anyOf"].append({"$ref": "#/$defs/ListThingsRequest"})


def git(folder: Path, *arguments: str, day: str = "2031-05-06") -> str:
    """Run git without a personal configuration."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"} | {
        "GIT_AUTHOR_DATE": f"{day}T12:00:00Z",
        "GIT_COMMITTER_DATE": f"{day}T12:00:00Z",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.com")
    command = ["git", *who, "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    return run_program(*command, env=environment).strip()


def commit_folder(folder: Path, day: str = "2031-05-06") -> str:
    """Make the folder a git repository if needed, and commit everything; return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "A change", day=day)
    return git(folder, "rev-parse", "HEAD")


@dataclass
class Site:
    """A web server over a table of pages that records requests and answers."""

    url: str
    pages: dict[str, bytes]
    asked: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """Where some pages redirect to."""
    etags: bool = True

    def statuses(self, path: str) -> list[int]:
        return [status for asked, status in self.asked if asked == path]


@contextmanager
def serving(pages: Mapping[str, bytes]) -> Generator[Site, None, None]:
    """Serve a site on this machine until the end of the block.

    As a proxy it answers for the whole URLs among its pages, and refuses every tunnel.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.headers.append(dict(self.headers.items()))
            path = self.path.partition("?")[0]
            if path in site.moved:
                self._answer(302, b"", "", Location=site.moved[path])
                return
            body = site.pages.get(path)
            etag = f'"{sha256(body).hexdigest()}"' if body is not None and site.etags else ""
            if body is None:
                self._answer(404, b"nothing", "")
            elif etag and self.headers.get("If-None-Match") == etag:
                self._answer(304, b"", etag)
            else:
                self._answer(200, body, etag)

        def do_CONNECT(self) -> None:
            site.asked.append((self.path, 403))
            self.send_error(403, "no tunnels here")

        def _answer(self, status: int, body: bytes, etag: str, **more: str) -> None:
            site.asked.append((self.path, status))
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            if etag:
                self.send_header("ETag", etag)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(f"http://127.0.0.1:{server.server_address[1]}", dict(pages))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


def pages_of(spec: Spec, below: str = "") -> dict[str, bytes]:
    """Return the files of a specification as pages of a server."""
    files = (file for file in spec.folder.glob("schema/*/schema.json"))
    return {f"{below}/{file.relative_to(spec.folder)}": file.read_bytes() for file in files}
