"""Sources on the web: any server, GitHub, proxies, and the cache of answers."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from mcp_protogen.base.cache_entries import with_digest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.sources import github_source
from mcp_protogen.pipeline.sources.github_source import GitHubSource
from mcp_protogen.pipeline.sources.opening import open_source
from mcp_protogen.pipeline.sources.site_source import SiteSource
from mcp_protogen.pipeline.sources.source import SchemaSource
from support import tables
from support.update.specifications import OLDER, Site, Spec, pages_of, serving

PATH = f"schema/{OLDER}/schema.json"
ROW = '<li><a href="{}">{}</a></li>'


@pytest.fixture
def site(spec: Spec) -> Iterator[Site]:
    with serving(pages_of(spec, "/mirror")) as served:
        yield served


@pytest.fixture
def github(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A stand-in for GitHub, with the specification in a repository."""
    folders = [{"name": name, "type": "dir"} for name in load_pins(spec.schema)]
    entries = [*folders, {"name": "README.md", "type": "file"}]
    pages = pages_of(spec, "/some/spec/HEAD")
    pages["/repos/some/spec/contents/schema"] = json.dumps(entries).encode()
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    with serving(pages) as served:
        monkeypatch.setattr(github_source, "RAW", served.url)
        monkeypatch.setattr(github_source, "API", served.url)
        yield served


def open_mirror(site: Site, cache: Path | None = None) -> SchemaSource:
    return open_source(f"{site.url}/mirror/", None, cache)


def content(source: SchemaSource) -> bytes:
    found = source.read(PATH)
    assert found is not None
    return found.content


def test_files_are_read_from_below_a_url(spec: Spec, site: Site) -> None:
    source = open_mirror(site)
    assert isinstance(source, SiteSource)
    assert content(source) == spec.path(OLDER).read_bytes()
    assert source.read("schema/draft/schema.json") is None


def test_a_query_goes_along_and_is_not_shown(site: Site) -> None:
    source = open_source(f"{site.url}/mirror?token=secret", None, None)
    assert content(source)
    assert site.asked == [(f"/mirror/{PATH}?token=secret", 200)]
    assert source.name == f"{site.url}/mirror"


def test_an_index_lists_the_revisions(site: Site) -> None:
    index = {"format": 1, "revisions": ["draft", OLDER]}
    site.pages["/mirror/schema/index.json"] = json.dumps(index).encode()
    listing = open_mirror(site).listing()
    assert (listing.revisions, listing.incomplete) == ((OLDER, "draft"), "")


@pytest.mark.parametrize("index", ["[]", '{"format": 2, "revisions": []}', "<html>", "{}"])
def test_an_index_that_is_none_is_refused(site: Site, index: str) -> None:
    site.pages["/mirror/schema/index.json"] = index.encode()
    with pytest.raises(ProblemError, match=r"bad-index|not-json"):
        open_mirror(site).listing()


def test_a_page_of_links_lists_the_revisions_right_below(site: Site) -> None:
    links = (
        "../",
        "draft/",
        f"/mirror/schema/{OLDER}/",
        "a/b/",
        "x.txt",
        "http://e.com/mirror/schema/elsewhere/",
        "?C=N",
    )
    page = "".join(ROW.format(link, link) for link in links)
    site.pages["/mirror/schema/"] = f"<html><ul>{page}</ul></html>".encode()
    listing = open_mirror(site).listing()
    assert (listing.revisions, listing.incomplete) == ((OLDER, "draft"), "")


def test_without_either_it_is_said_that_the_list_is_not_complete(site: Site) -> None:
    listing = open_mirror(site).listing()
    assert listing.revisions == ()
    assert "neither schema/index.json nor a page" in listing.incomplete


def test_a_repository_on_github_is_listed_and_read(spec: Spec, github: Site) -> None:
    source = open_source("https://github.com/some/spec", None, None)
    assert isinstance(source, GitHubSource)
    assert source.listing().revisions == tuple(load_pins(spec.schema))
    assert source.listing().incomplete == ""
    assert content(source) == spec.path(OLDER).read_bytes()
    assert source.repository == "https://github.com/some/spec"


def test_every_url_of_a_repository_is_understood() -> None:
    rows: list[tuple[str, str | None, str]] = [
        ("https://github.com/some/spec", None, "HEAD"),
        ("https://github.com/some/spec.git", None, "HEAD"),
        ("https://github.com/some/spec/", "v1/b", "v1/b"),
        ("https://github.com/some/spec/tree/main", None, "main"),
        ("https://github.com/some/spec/tree/main", "v1/b", "v1/b"),
        ("https://somebody:secret@GitHub.com/some/spec", None, "HEAD"),
        ("https://raw.githubusercontent.com/some/spec/main", None, "main"),
    ]
    for url, ref, expected in rows:
        with tables.case((url, ref, expected)):
            source = open_source(url, ref, None)
            assert isinstance(source, GitHubSource)
            assert (source.owner, source.repo, source.ref) == ("some", "spec", expected)
            assert open_source(source.name, None, None) == source


def test_an_api_that_does_not_answer_leaves_the_files_readable(
    spec: Spec, github: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    del github.pages["/repos/some/spec/contents/schema"]
    source = open_source("https://github.com/some/spec", None, None)
    assert "has no folder schema" in source.listing().incomplete
    github.pages["/repos/some/spec/contents/schema"] = b'{"message": "rate limit"}'
    assert "not a list of a folder's entries" in source.listing().incomplete
    monkeypatch.setattr(github_source, "API", "http://127.0.0.1:9")
    assert "refused" in source.listing().incomplete
    assert content(source) == spec.path(OLDER).read_bytes()


def test_a_token_goes_to_the_api_and_not_where_that_redirects(
    github: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret\n")
    source = open_source("https://github.com/some/spec", None, None)
    github.moved["/repos/some/spec/contents/schema"] = "/repositories/1"
    github.pages["/repositories/1"] = b"[]"
    source.listing()
    source.read(PATH)
    sent = [headers.get("Authorization") for headers in github.headers]
    assert sent == ["Bearer secret", None, None]


@pytest.mark.parametrize("umask", [0o022, 0o002])
def test_unchanged_file_comes_from_cache(
    umask: int, site: Site, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(os.umask, os.umask(umask)))
    source = open_mirror(site, tmp_path / "new" / "cache")
    first = content(source)
    assert content(source) == first
    assert site.statuses(f"/mirror/{PATH}") == [200, 304]
    site.pages[f"/mirror/{PATH}"] = b"{}"
    assert content(source) == b"{}"
    assert content(source) == b"{}"
    assert site.statuses(f"/mirror/{PATH}") == [200, 304, 200, 304]


def test_without_a_cache_nothing_is_written(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    content(open_mirror(site))
    content(open_mirror(site))
    assert site.statuses(f"/mirror/{PATH}") == [200, 200]
    assert [*Path().iterdir()] == []


DAMAGES: Sequence[Callable[[bytes], bytes]] = (
    lambda kept: kept[:-1],
    lambda kept: b"",
    lambda kept: b"\xff" + kept,
    lambda kept: kept.replace(b"Tool", b"Fool", 1),
    lambda kept: b"[]\n" + kept.partition(b"\n")[2],
    lambda kept: kept.replace(b'\n"', b'\n"\r\nX: y', 1),
    lambda kept: kept.partition(b"\n")[0] + b"\n",
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_asked_for_anew(
    site: Site, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    source = open_mirror(site, tmp_path / "cache")
    first = content(source)
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert content(source) == first
    assert site.statuses(f"/mirror/{PATH}") == [200, 200]
    assert content(source) == first
    assert site.statuses(f"/mirror/{PATH}") == [200, 200, 304]


@pytest.mark.parametrize("etag", [b"", b"\xff", b'"x"\r', b'"\xc3\xa9"'])
def test_entry_whose_tag_cannot_be_sent_is_asked_for_anew(
    site: Site, tmp_path: Path, etag: bytes
) -> None:
    source = open_source(f"{site.url}/mirror", None, tmp_path / "cache")
    first = content(source)
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(with_digest(entry.name, etag + b"\n" + first))
    assert content(source) == first
    assert site.statuses(f"/mirror/{PATH}") == [200, 200]


def test_a_token_in_a_url_is_not_kept(site: Site, tmp_path: Path) -> None:
    source = open_source(f"{site.url}/mirror?token=secret", None, tmp_path / "cache")
    assert content(source) == content(source)
    assert site.statuses(f"/mirror/{PATH}?token=secret") == [200, 304]
    (entry,) = (tmp_path / "cache").iterdir()
    assert b"secret" not in entry.read_bytes()


def test_an_answer_without_an_etag_is_not_kept(site: Site, tmp_path: Path) -> None:
    site.etags = False
    content(open_mirror(site, tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


def test_a_file_that_is_gone_is_not_taken_from_the_cache(site: Site, tmp_path: Path) -> None:
    source = open_mirror(site, tmp_path / "cache")
    content(source)
    del site.pages[f"/mirror/{PATH}"]
    assert source.read(PATH) is None


def test_a_server_that_is_down_is_not_made_up_for_by_the_cache(
    site: Site, tmp_path: Path, spec: Spec
) -> None:
    with serving(pages_of(spec)) as other:
        source = open_source(other.url, None, tmp_path / "cache")
        content(source)
    with pytest.raises(ProblemError, match="unreadable-source"):
        source.read(PATH)


def test_a_proxy_is_gone_through(spec: Spec, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    elsewhere = site.url.replace("127.0.0.1", "spec.example.com")
    with serving(pages_of(spec, f"{elsewhere}/mirror")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("https_proxy", proxy.url)
        source = open_source(f"{elsewhere}/mirror", None, None)
        assert content(source) == spec.path(OLDER).read_bytes()
        with pytest.raises(ProblemError, match="no tunnels here"):
            open_source("https://github.com/some/spec", None, None).read(PATH)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        content(open_mirror(site))
    asked = [path for path, _ in proxy.asked]
    assert asked == [f"{elsewhere}/mirror/{PATH}", "raw.githubusercontent.com:443"]
