"""Published schemas in a repository on GitHub: raw files, and the contents API to list them.

https://docs.github.com/rest/repos/contents
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.sources import cache as cached
from mcp_protogen.pipeline.sources.source import PublishedFile, SourceListing, listing_of

PAGES = "https://github.com"
RAW = "https://raw.githubusercontent.com"
API = "https://api.github.com"
_PART = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class GitHubSource:
    """One ref of a repository; HEAD is its default branch."""

    owner: str
    repo: str
    ref: str = "HEAD"
    cache: Path | None = None
    kind: str = "GitHub"
    commit: str | None = None

    @property
    def name(self) -> str:
        """The URL of the repository's page, or of its page for a ref."""
        return self.repository if self.ref == "HEAD" else f"{self.repository}/tree/{self.ref}"

    @property
    def repository(self) -> str:
        """The URL of the repository's page."""
        return f"{PAGES}/{self.owner}/{self.repo}"

    def listing(self) -> SourceListing:
        """Return the folders below `schema`; the listing is incomplete if the API does not answer.

        The API limits requests from one address per hour. The files are on another host, so that
        pinned revisions can still be read.
        """
        ref = "" if self.ref == "HEAD" else f"?ref={quote(self.ref, safe='')}"
        url = f"{API}/repos/{self.owner}/{self.repo}/contents/schema{ref}"
        try:
            content = cached.read(url, self.cache, _token())
            if content is None:
                return SourceListing((), f"{self.name} has no folder schema")
            return listing_of(_folders(content, url), self.name)
        except ProblemError as error:
            reason = error.problems[0].message
            return SourceListing((), f"{url} did not answer with a list of folders: {reason}")

    def read(self, path: str) -> PublishedFile | None:
        """Return the raw bytes of a file."""
        url = f"{RAW}/{self.owner}/{self.repo}/{quote(self.ref)}/{quote(path)}"
        content = cached.read(url, self.cache)
        return None if content is None else PublishedFile(content)


def github_source(url: str, ref: str | None, cache: Path | None) -> GitHubSource | None:
    """Return the repository of a GitHub URL, or None for any other URL."""
    parts = urlsplit(url)
    base = f"{parts.scheme}://{parts.hostname}"
    path = [part for part in parts.path.split("/") if part]
    if base == RAW and len(path) == 3:
        owner, repo, named = path
    elif base == PAGES and len(path) == 2:
        owner, repo, named = path[0], path[1].removesuffix(".git"), "HEAD"
    elif base == PAGES and len(path) > 3 and path[2] == "tree":
        owner, repo, named = path[0], path[1], "/".join(path[3:])
    else:
        return None
    if not (_PART.fullmatch(owner) and _PART.fullmatch(repo)):
        return None
    return GitHubSource(owner, repo, ref or named, cache)


def _folders(content: bytes, place: str) -> list[str]:
    entries = parse_json(content, place)
    if not is_array(entries):
        raise ProblemError(Problem("bad-index", "this is not a list of a folder's entries", place))
    folders = [entry for entry in entries if is_object(entry) and entry.get("type") == "dir"]
    return [str(folder.get("name")) for folder in folders]


def _token() -> str:
    """Return the token that raises the limit of the API, as in GitHub Actions, or empty."""
    token = os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or ""
    return token.strip()  # a token from a file ends with a newline
