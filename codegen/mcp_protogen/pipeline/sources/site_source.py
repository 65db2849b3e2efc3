"""Published schemas under a URL: any web server with the layout of the specification."""

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.sources import cache as cached
from mcp_protogen.pipeline.sources.source import PublishedFile, SourceListing, listing_of
from mcp_protogen.pipeline.sources.upstream import without_secrets

INDEX = "schema/index.json"
"""A server's optional list of revisions; `schema/formats/index.schema.json` describes it."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SiteSource:
    """The files under a URL; a query, such as a token, is sent with each of them."""

    base: str
    cache: Path | None = None
    kind: str = "site"
    commit: str | None = None
    repository: str | None = None

    @property
    def name(self) -> str:
        """The URL without user and query."""
        return without_secrets(self.base)

    def listing(self) -> SourceListing:
        """Return the revisions in the server's index, or on its page of the folder `schema`."""
        index = cached.read(self._url(INDEX), self.cache)
        if index is not None:
            place = without_secrets(self._url(INDEX))
            return listing_of(_read_index(index, place), place)
        page = self._page()
        if page is not None:
            names = _linked_folders(page, self._url("schema/"))
            if names:
                return listing_of(names, self.name)
        return SourceListing(
            (), f"{self.name} offers neither {INDEX} nor a page that lists schema/"
        )

    def read(self, path: str) -> PublishedFile | None:
        """Return the bytes under a path; commit and day are unknown."""
        content = cached.read(self._url(path), self.cache)
        return None if content is None else PublishedFile(content)

    def _page(self) -> bytes | None:
        try:
            return cached.read(self._url("schema/"), self.cache)
        except ProblemError:  # servers that do not list folders answer in many ways
            return None

    def _url(self, path: str) -> str:
        parts = urlsplit(self.base)
        whole = f"{parts.path.rstrip('/')}/{quote(path)}"
        return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))


def _read_index(content: bytes, place: str) -> list[str]:
    index = parse_json(content, place)
    revisions = index.get("revisions") if is_object(index) else None
    if not is_object(index) or index.get("format") != _FORMAT or not is_array(revisions):
        message = f"this is not an index of revisions of format {_FORMAT}"
        hint = "schema/formats/index.schema.json in the project describes the format"
        raise ProblemError(Problem("bad-index", message, place, hint=hint))
    return [name if isinstance(name, str) else str(name) for name in revisions]


def _linked_folders(page: bytes, base: str) -> list[str]:
    """Return the folders directly below `base` that a page links to."""
    links = _Links()
    links.feed(page.decode("utf-8", "replace"))
    folder = urlsplit(base)
    names: list[str] = []
    for link in links.found:
        link_url = urlsplit(urljoin(urlunsplit(folder._replace(query="")), link))
        inside = link_url.path.startswith(folder.path) and link_url.netloc == folder.netloc
        path = unquote(link_url.path.removeprefix(folder.path)) if inside else ""
        name, slash, below = path.partition("/")
        if slash and not below and name.strip("."):
            names.append(name)
    return names


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]
