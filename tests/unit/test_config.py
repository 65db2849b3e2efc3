"""Settings: pyproject.toml and flags, merged."""

from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import Docstrings, FileOf, Format
from mcp_protogen.pipeline.options import OPTIONS
from mcp_protogen.pipeline.setting_readers import revision_and_file
from mcp_protogen.pipeline.settings import Settings, load_settings
from support import missing, tables


def settings(folder: Path, text: str) -> Settings:
    (folder / "pyproject.toml").write_text(text)
    return load_settings(folder)


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


@pytest.mark.parametrize("text", ["", "[tool.other]\nout = 1", '[project]\nname = "mcp-gen"'])
def test_a_file_without_the_table_sets_nothing(text: str, tmp_path: Path) -> None:
    assert settings(tmp_path, text) == Settings()


def test_every_setting_is_read_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = """
        [tool.mcp-gen]
        revisions = ["2025-11-25", "2026-07-28"]
        out = "src/pkg"
        schema = "draft.json"
        templates = "templates"
        format = "github"
        own = "extra.py"
        with = ["stdio", "http-client"]
        extensions = ["tasks", "apps=apps.json"]
        schemas = { "2025-11-25" = "published.json" }
        docstrings = "schema"
        patches = "mine.json"
    """
    assert settings(tmp_path, text) == Settings(
        revisions=("2025-11-25", "2026-07-28"),
        out=tmp_path / "src" / "pkg",
        schema=str(tmp_path / "draft.json"),
        templates=tmp_path / "templates",
        format=Format.GITHUB,
        own=("extra.py",),
        listed={
            "revisions": ("2025-11-25", "2026-07-28"),
            "parts": ("stdio", "http-client"),
            "extensions": ("tasks", f"apps={tmp_path / 'apps.json'}"),
        },
        parts=("stdio", "http-client"),
        extensions=("tasks", f"apps={tmp_path / 'apps.json'}"),
        schemas={"2025-11-25": str(tmp_path / "published.json")},
        docstrings=Docstrings.SCHEMA,
        patches=(FileOf("", str(tmp_path / "mine.json")),),
    )


def test_a_schema_on_the_command_line_replaces_that_of_its_revision_alone() -> None:
    configured = Settings(schemas={"a": "a.json", "b": "b.json"})
    merged = Settings(schemas={"b": "new.json"}).merge_over(configured)
    assert merged.schemas == {"a": "a.json", "b": "new.json"}
    assert Settings(revisions=("b",)).merge_over(configured).schemas == {"b": "b.json"}
    assert Settings(revisions=("all",)).merge_over(configured).schemas == configured.schemas


def test_a_file_may_be_named_with_its_revision() -> None:
    for text, expected in (
        ("2025-11-25=a.json", FileOf("2025-11-25", "a.json")),
        ("a.json", FileOf("", "a.json")),
        ("./a=b.json", FileOf("", "./a=b.json")),
        ("https://host/x?a=b", FileOf("", "https://host/x?a=b")),
        ("draft=https://host/x?a=b", FileOf("draft", "https://host/x?a=b")),
    ):
        assert revision_and_file(text) == expected


def test_a_list_of_revisions_is_all_of_its_folder_until_flags_say_otherwise(tmp_path: Path) -> None:
    found = settings(tmp_path, '[tool.mcp-gen]\nrevision = "2025-11-25"\nout = "pkg"')
    for flags, listed in (
        (Settings(), True),
        (Settings(out=tmp_path / "pkg"), True),
        (Settings(out=tmp_path / "other"), False),
        (Settings(revisions=("2025-11-25",)), False),
    ):
        assert flags.merge_over(found).as_listed().prune == listed
    parts = settings(tmp_path, '[tool.mcp-gen]\nwith = "stdio"\nout = "pkg"')
    for flags, listed in (
        (Settings(), True),
        (Settings(out=tmp_path / "other"), False),
        (Settings(parts=("bridge",)), False),
    ):
        assert flags.merge_over(parts).as_listed().has_only("parts") == listed
    extensions = settings(tmp_path, '[tool.mcp-gen]\nextensions = "tasks"\nout = "pkg"')
    for flags, listed in ((Settings(), True), (Settings(extensions=("apps",)), False)):
        assert flags.merge_over(extensions).as_listed().has_only("extensions") == listed
    assert not Settings().merge_over(parts).has_only("parts")
    pruned = Settings(parts=("bridge",), extensions=("apps",), prune=True).merge_over(parts)
    for options in (pruned, pruned.as_listed()):
        assert options.has_only("parts") and options.has_only("extensions")
    assert Settings(prune=True).merge_over(parts).only is None
    assert Settings().merge_over(found).only is None
    assert Settings(prune=True).merge_over(found).only == ("2025-11-25",)
    assert Settings(revisions=("draft",), prune=True).merge_over(found).only == ("draft",)


OUTSIDE = (
    *('out = "../pkg"', 'out = "/pkg"', 'out = "beyond/pkg"', 'out = "a/../../pkg"'),
    *('out = "one"', 'templates = ".."', 'templates = "beyond"', 'rules = "../rules.json"'),
    *('schema = "https://example.com/a.json"', 'rules = "http://example.com/a.json"'),
    *('schemas = { a = "../a.json" }', 'patches = { a = "../a.json" }'),
    *('extensions = "a=../a.json"', 'patches = "../a.json"'),
    *('schema = "file:///etc/hosts"', 'schema = "./file:/etc/hosts"', 'schema = "https:/host/a"'),
)


def test_a_setting_leads_nowhere_outside_the_folder_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "beyond").symlink_to(tmp_path)
    (project / "inside").symlink_to("src")
    (project / "one").symlink_to("other")
    (project / "other").symlink_to("one")
    monkeypatch.chdir(project)
    for line in OUTSIDE:
        with pytest.raises(ProblemError) as caught:
            settings(project, f"[tool.mcp-gen]\n{line}")
        (problem,) = caught.value.problems
        assert problem.code == "outside-project"
        assert problem.message.startswith(line.split()[0])
        # One of several `schemas` is a `--schema`.
        key = line.split()[0]
        flag = key if key in ("patches", "rules", "templates") else key.removesuffix("s")
        assert f"--{flag} " in problem.hint
    assert settings(project, '[tool.mcp-gen]\nout = "inside/pkg"').out == Path("inside/pkg")
    assert settings(project, '[tool.mcp-gen]\nout = "."').out == Path()
    # In a subfolder of a project on Windows every path begins with a drive.
    assert settings(project, '[tool.mcp-gen]\nschema = "c:/a.json"').schema == "c:/a.json"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with a project in a folder, which is the working directory."""
    root = tmp_path / "repository"
    for folder in (root / ".git", root / "project", root / "sub" / "module", root / "worktree"):
        folder.mkdir(parents=True)
    (root / "sub" / "module" / ".git").write_text("gitdir: ../../.git/modules/module\n")
    (root / "worktree" / ".git").write_text("gitdir: ../.git/worktrees/worktree\n")
    (root / "project" / "beyond").symlink_to(tmp_path)
    (root / "project" / "above").symlink_to(root)
    monkeypatch.chdir(root / "project")
    return root


def test_out_may_lead_anywhere_in_the_git_repository(repository: Path) -> None:
    for out in ("../x", "../sdk/src/wire", "above/x", "..", str(repository / "x"), "../.github/x"):
        for line in (f"out = {out!r}", f"clients.a = {{ server = 'x', out = {out!r} }}"):
            with tables.case(line):
                found = settings(repository / "project", f"[tool.mcp-gen]\n{line}")
                places = [found.out, *(client.out for client in found.clients or ())]
                where = (repository / "project" / out).resolve()
                assert [place.resolve() for place in places if place] == [where]


def test_out_may_not_leave_the_git_repository(repository: Path) -> None:
    outside = ("../..", "../../x", "/x", "beyond/x", "../../repository-2", "above/../../x")
    for out in (*outside, "../sub/module/x", "../worktree", "../.git/hooks", "above/.git"):
        with tables.case(out), pytest.raises(ProblemError) as caught:
            settings(repository / "project", f"[tool.mcp-gen]\nout = {out!r}")
        (problem,) = caught.value.problems
        assert problem.code == "outside-project"
        assert "leads out of the git repository of this file" in problem.message
    for line in ("templates = '..'", "rules = '../rules.json'", "schema = '../schema.json'"):
        with tables.case(line), pytest.raises(ProblemError, match="outside-project"):
            settings(repository / "project", f"[tool.mcp-gen]\n{line}")


def test_out_of_a_worktree_or_submodule_stays_in_it(repository: Path) -> None:
    for folder in (repository / "worktree", repository / "sub" / "module"):
        project = folder / "project"
        project.mkdir()
        with tables.case(folder.name):
            assert settings(project, "[tool.mcp-gen]\nout = '../x'").out is not None
            with pytest.raises(ProblemError, match="outside-project"):
                settings(project, "[tool.mcp-gen]\nout = '../../x'")


def test_out_of_the_published_case_is_accepted(repository: Path) -> None:
    case = missing.reference("cases/gateway/monorepo-pyproject.toml", "that out may be beside")
    found = settings(repository / "project", case.read_text())
    assert found.out == Path("../sdk/src/mysdk/wire")


def test_a_setting_that_is_overruled_may_lead_anywhere(tmp_path: Path) -> None:
    lines = ["[tool.mcp-gen]", 'revision = "draft"', 'schema = "https://example.com/a.json"']
    (tmp_path / "pyproject.toml").write_text("\n".join([*lines, 'out = "../x"']))
    flags = Settings(revisions=("2025-11-25",), out=Path("x"))
    assert flags.merge_over(load_settings(tmp_path, flags)) == flags
    with pytest.raises(ProblemError, match=r"outside-project.*schema"):
        load_settings(tmp_path, Settings(out=Path("x")))


def test_the_nearest_file_upwards_counts_and_hides_those_above(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.mcp-gen]\nout = "above"')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert load_settings(inner).out == tmp_path / "above"
    (tmp_path / "a" / "pyproject.toml").write_text("")
    assert load_settings(inner) == Settings()


def test_an_unknown_setting_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"bad-config.*'revison'(.|\n)*did you mean revision"):
        settings(tmp_path, '[tool.mcp-gen]\nrevison = "all"')


@pytest.mark.parametrize(
    "line",
    ["out = 1", 'out = ""', "revisions = [1]", 'format = "xml"', "own = {}", "templates = true"],
)
def test_a_value_of_the_wrong_kind_is_a_problem(line: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=f"bad-config.*{line.split()[0]}"):
        settings(tmp_path, f"[tool.mcp-gen]\n{line}")


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as caught:
        settings(tmp_path, "[tool.mcp-gen]\nx = 1\nout = 2")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("text", ["[tool.mcp-gen", 'tool = "mcp-gen"', "[tool]\nmcp-gen = 1"])
def test_a_broken_file_is_a_problem(text: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="bad-config"):
        settings(tmp_path, text)


def test_flags_win_and_leave_the_rest(tmp_path: Path) -> None:
    configured = Settings(out=tmp_path, templates=tmp_path, format=Format.JSON)
    merged = Settings(out=Path("x")).merge_over(configured)
    assert merged == Settings(out=Path("x"), templates=tmp_path, format=Format.JSON)


def test_a_schema_that_was_set_belongs_to_the_revisions_it_was_set_with() -> None:
    configured = Settings(revisions=("draft",), schema="draft.json")
    assert Settings().merge_over(configured).schema == "draft.json"
    assert Settings(revisions=("2025-11-25",)).merge_over(configured).schema is None


def test_every_setting_is_an_option_of_the_table() -> None:
    of_lists = {"listed", "only_listed"}
    assert {option.field for option in OPTIONS} == {*Settings._fields} - of_lists
