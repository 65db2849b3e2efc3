"""The built site: its pages, links, reference, and what programs read."""

import re
from collections import Counter
from pathlib import Path

import mcp_revisions as pkg
import pytest
from markdown_it import MarkdownIt
from mcp_protogen.cli.explanations import explanations
from mcp_protogen.pipeline.settings import setting_names
from support.tables import case
from support.website.site_pages import WHOLE, content, content_of, dead, page, search_index, site
from website import marks, navigation, ranking, speed
from website.finishing import finish_page
from website.links import Links
from website.places import address
from website.reference import declared, names
from website.reference.topics import PAGES

STRUCTURE = ("h1", "h2", "h3", "h4", "li", "table", "tr", "pre", "blockquote")
HTML = [f"{listed.name}.html" for listed in navigation.pages()]
HEAD = '<meta name="description" content="a"><title>b</title></head>'


@pytest.fixture(scope="module")
def built() -> Path:
    return site()


def test_every_page_of_docs_is_in_the_navigation() -> None:
    assert navigation.unlisted_pages() == set()


def test_no_link_is_dead(built: Path) -> None:
    for name in HTML:
        with case(name):
            assert dead(built / name) == []


def test_each_page_leads_to_all_others_and_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    for name in (f"{stem}.html" for stem in WHOLE):
        with case(name):
            shown = page(built / name)
            assert f"./{navigation.EXPLORER.address}" in shown.links
            assert {link.removeprefix("./") for link in shown.links} >= {*HTML} - {name}
            loaded = shown.loaded
            assert [url for url in loaded if re.match(r"[a-z]+:|//", url)] == []
            assert [url for url in loaded if not (built / url).is_file()] == []


def test_explorer_links_to_the_start_page_and_to_each_section(built: Path) -> None:
    explorer = built / navigation.EXPLORER.address
    links = page(explorer).links
    assert "../index.html" in links
    for section in navigation.sections():
        assert f"../{section.pages[0].name}.html" in links
    files = [link for link in links if not link.startswith("#")]
    assert [link for link in files if not (explorer.parent / link).is_file()] == []


def test_each_page_has_a_title_and_a_description_of_its_own(built: Path) -> None:
    heads: list[tuple[str, str]] = []
    for name in HTML:
        with case(name):
            text = (built / name).read_text(encoding="utf-8")
            (title,) = re.findall("<title>(.+) - mcp-gen</title>", text)
            (about,) = re.findall('<meta name="description" content="(.+)">', text)
            assert f'<meta property="og:description" content="{about}">' in text
            heads.append((title, about))
    for ones in zip(*heads, strict=True):
        assert [value for value, times in Counter(ones).items() if times > 1] == []


def test_styles_and_search_load_nothing_from_elsewhere(built: Path) -> None:
    for file in built.rglob("*.css"):
        with case(str(file)):
            assert re.findall(r"url\((?:['\"]?)(?:https?:)?//|@import", file.read_text()) == []


def test_pages_have_the_headings_lists_and_code_that_git_hosts_show(built: Path) -> None:
    reader = MarkdownIt("commonmark").enable("table")
    for name in (f"{stem}.html" for stem in WHOLE):
        text = (built / f"{name}.md").read_text(encoding="utf-8")
        # A drawing is code on a git host.
        if "```mermaid" in text:
            continue
        with case(name):
            shown, meant = content(built / name), content_of(reader.render(text))
            wanted, found = Counter(meant.tags), Counter(shown.tags)
            assert {tag: found[tag] for tag in STRUCTURE} == {tag: wanted[tag] for tag in STRUCTURE}
            assert shown.code == meant.code


def test_every_public_name_has_a_place_in_the_reference(built: Path) -> None:
    assert names.unlisted_names() == set()
    package = {
        public_name for public_name in vars(pkg)["__all__"] if not public_name.startswith("v2")
    }
    assert package <= PAGES.keys()
    for name, where in PAGES.items():
        with case(name):
            assert name in content(built / f"{where}.html").ids


def test_every_command_option_code_and_setting_has_a_place(built: Path) -> None:
    commands = (built / "reference-commands.html").read_text(encoding="utf-8")
    for command in declared.commands():
        with case(command.name):
            assert f'id="{command.name.replace(" ", "-")}"' in commands
            for parameter in command.parameters:
                assert all(f"<code>{name}</code>" in commands for name in parameter.names)
    assert explanations().keys() <= content(built / "reference-codes.html").ids
    settings = (built / "reference-settings.html").read_text(encoding="utf-8")
    assert all(f"<code>{name}</code>" in settings for name in setting_names())


def test_programs_find_every_page_as_markdown(built: Path) -> None:
    overview = (built / "llms.txt").read_text(encoding="utf-8")
    assert overview.startswith("# mcp-gen\n\n> ")
    everything = (built / "llms-full.txt").read_text(encoding="utf-8")
    for name in HTML:
        with case(name):
            assert f"]({name}.md): " in overview
            assert f"<!-- {name} -->" in everything
            text = (built / f"{name}.md").read_text(encoding="utf-8")
            assert text.startswith("# ") or "\n# " in text
            links = re.findall(r"\]\(([\w-]+\.html\.md)(?:#[^)]*)?\)", text)
            assert [link for link in links if not (built / link).is_file()] == []
            assert f'href="{name}.md"' in (built / name).read_text(encoding="utf-8")


def test_every_page_can_be_found(built: Path) -> None:
    found = {entry["location"].partition("#")[0] for entry in search_index()}
    assert found >= set(HTML)


def test_drawings_say_what_they_show_and_tables_what_heads_a_cell(built: Path) -> None:
    for name, drawn in {"protocol.html": 3, "negotiation.html": 2}.items():
        with case(name):
            text = (built / name).read_text(encoding="utf-8")
            drawings = re.findall(r'<svg role="img" aria-labelledby="(\S+) (\S+)"', text)
            assert len(drawings) == drawn
            assert {drawing for pair in drawings for drawing in pair} <= content(built / name).ids
            assert "mermaid" not in text
            assert re.findall(r"<th(?! scope)[ >]", text) == []


def test_shell_commands_have_no_highlighted_numbers(built: Path) -> None:
    for name in HTML:
        with case(name):
            assert '<span class="m">' not in (built / name).read_text(encoding="utf-8")
    code = '<span class="m">2025</span>-11-25<span class="mi">3</span>'
    assert finish_page("x.html", f"{HEAD}{code}").endswith('2025-11-25<span class="mi">3</span>')


def test_renamed_pages_redirect_to_existing_ones(built: Path) -> None:
    for old, new in navigation.RENAMED.items():
        with case(old):
            assert old not in {page.name for page in navigation.pages()}
            assert f"{new}.html" in HTML
            text = (built / f"{old}.html").read_text(encoding="utf-8")
            assert f'http-equiv="refresh" content="0; url={new}.html"' in text


def test_build_fails_if_the_search_script_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "assets" / "javascripts" / "workers"
    folder.mkdir(parents=True)
    (folder / "search.1.js").write_text("handlers:[]")
    with pytest.raises(RuntimeError, match=r"search\.1\.js has changed: adapt ranking\.py"):
        ranking.lower(tmp_path)


def test_a_row_that_says_what_those_below_it_are_about_has_one_cell() -> None:
    row = "<tr>\n<td>{}</td>\n<td></td>\n<td>{}</td>\n</tr>"
    page = finish_page("x.html", HEAD + row.format("<strong>c</strong>", ""))
    assert '<tr>\n<th scope="rowgroup" colspan="3"><strong>c</strong></th>\n</tr>' in page
    page = finish_page("x.html", HEAD + row.format("<strong>c</strong>", "d"))
    assert '<th scope="row"><strong>c</strong></th>\n<td></td>\n<td>d</td>' in page


def test_link_text_with_file_name_becomes_page_title() -> None:
    links = Links()
    text = "[http.md](http.md#health), [a](http.md), `[http.md](http.md)`, [../LICENSE](../LICENSE)"
    changed = (
        "[HTTP](http.md#health), [a](http.md), `[http.md](http.md)`, [../LICENSE](files/LICENSE)"
    )
    assert links.rewrite(text, "docs/command-call.md") == changed
    assert links.dead == []


def test_pages_can_be_edited_once_the_project_has_an_address(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.urls]\nSource = "https://git.example/a/"\n')
    assert address("Source", project) == "https://git.example/a"
    assert address("Documentation", project) == ""
    page = f"{HEAD}<article></article>"
    edit = "https://git.example/a/edit/main/docs/x.md"
    assert f'<a rel="edit" href="{edit}">' in finish_page("x.html", page, edit)
    assert 'rel="edit"' not in finish_page("x.html", page)


def test_the_page_of_speed_shows_the_benchmarks_that_were_recorded() -> None:
    topics = speed.read()
    assert speed.PAGE.read_text(encoding="utf-8") == speed.page(topics), "run make bench"
    assert "a call with a report" in speed.costs(topics)
    topics["bridge"]["rows"] = []
    with pytest.raises(ValueError, match=r"shows 'stdio to HTTP, .*' of bridge, which was not"):
        speed.section(topics)


def test_a_section_goes_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n")
    marks.write(file, "x", "new\n")
    assert file.read_text() == "before\n<!-- x: begin -->\nnew\n<!-- x: end -->\nafter\n"
    file.write_text("no marks\n")
    with pytest.raises(ValueError, match="no place for x: "):
        marks.write(file, "x", "new\n")


def test_a_topic_that_is_measured_alone_replaces_its_own_rows(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    speed.update_record({"a": {"rows": [1]}, "b": {"rows": [2]}}, file)
    speed.update_record({"a": {"rows": [3]}}, file)
    assert speed.read(file) == {"a": {"rows": [3]}, "b": {"rows": [2]}}
