"""Packages of earlier runs: reused if nothing has changed, and harmless otherwise."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base import cache_entries as entries
from mcp_protogen.base import file_set, private_files
from mcp_protogen.base.cache_entries import read_entry, user_cache, write_entry
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.pipeline import package_cache as packages
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.package import Package
from support import tables
from support.folders import environment
from support.generating import generate_little
from support.running import Run

OPTIONS = GenerationOptions(("2025-11-25",))
NOTICE = Problem("to-decide", "Not yet.", "facts.json", "/a", "Decide.", Level.WARNING)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(entries.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def generated_options(little: None, monkeypatch: pytest.MonkeyPatch) -> list[GenerationOptions]:
    """The options of each package that was generated, with a warning, and not found."""
    asked: list[GenerationOptions] = []

    def generate(options: GenerationOptions) -> Package:
        asked.append(options)
        return generate_little(options)._replace(warnings=(NOTICE,))

    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generate)
    return asked


def test_a_package_is_made_once(cache: Path, generated_options: list[GenerationOptions]) -> None:
    first, second = packages.make_package(OPTIONS), packages.make_package(OPTIONS)
    assert first == second and second.warnings == (NOTICE,)
    assert len(generated_options) == 1


def test_packages_with_uncached_options_are_not_stored(
    cache: Path, generated_options: list[GenerationOptions]
) -> None:
    for options, cached in ((OPTIONS, False), (OPTIONS._replace(runtime="runtime"), True)):
        packages.make_package(options, cached=cached)
        packages.make_package(options, cached=cached)
        assert not cache.exists()
    assert len(generated_options) == 4


def test_whatever_a_package_depends_on_makes_another(
    cache: Path,
    generated_options: list[GenerationOptions],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = tmp_path / "templates"
    own.mkdir()
    templated = OPTIONS._replace(templates=own)

    def template(text: str, name: str = "bridge.py.jinja") -> Callable[[], None]:
        def change() -> None:
            (own / name).parent.mkdir(exist_ok=True)
            (own / name).write_text(text)

        return change

    def upgrade() -> None:
        (tmp_path / "newer" / "Jinja2-99.0.dist-info").mkdir(parents=True)
        monkeypatch.setattr(sys, "path", [str(tmp_path / "newer"), *sys.path])

    unchanged: Callable[[], None] = lambda: None  # noqa: E731
    schema = GivenFile("draft.json", b'{"$defs": {"A": {"type": "string"}}}')
    renamed = schema._replace(name="other.json")
    other = schema._replace(content=b'{"$defs": {"A": {"type": "number"}}}')
    cases: tuple[tuple[str, GenerationOptions, Callable[[], None]], ...] = (
        ("the first", OPTIONS, unchanged),
        ("parts", OPTIONS._replace(parts=("stdio",)), unchanged),
        ("revisions", GenerationOptions(("2024-11-05", "2025-11-25")), unchanged),
        ("templates", templated, template("x = 1\n")),
        ("a changed template", templated, template("x = 2\n")),
        ("another that it may include", templated, template("x = 3\n", "__pycache__/a.jinja")),
        ("a schema", OPTIONS._replace(schemas={"2025-11-25": schema}), unchanged),
        ("another schema", OPTIONS._replace(schemas={"2025-11-25": other}), unchanged),
        ("another name", OPTIONS._replace(schemas={"2025-11-25": renamed}), unchanged),
        ("rules", OPTIONS._replace(rules={"2025-11-25": GivenFile("a", b"{}")}), unchanged),
        ("their name", OPTIONS._replace(rules={"2025-11-25": GivenFile("b", b"{}")}), unchanged),
        ("a tool", OPTIONS, upgrade),
    )
    for number, (name, options, change) in enumerate(cases, 1):
        with tables.case(name):
            change()
            packages.make_package(options)
            packages.make_package(options)
            assert len(generated_options) == len(list(cache.iterdir())) == number


def test_an_entry_that_is_damaged_or_under_the_name_of_another_is_made_anew(
    cache: Path, generated_options: list[GenerationOptions]
) -> None:
    other = OPTIONS._replace(parts=("stdio",))
    first, second = packages.make_package(OPTIONS), packages.make_package(other)
    one, two = cache.iterdir()
    for source, destination in ((one, two), (two, one)):
        destination.write_bytes(source.read_bytes())
        assert (packages.make_package(OPTIONS), packages.make_package(other)) == (first, second)
    assert len(generated_options) == 4
    whole = one.read_bytes()
    for damaged in (b"", b"\n", b"\xff\n\0", whole[:-1], whole[:64]):
        one.write_bytes(damaged)
        for options in (OPTIONS, other):
            packages.make_package(options)
        assert one.read_bytes() == whole
    assert len(generated_options) == 9


def test_file_of_another_user_is_not_an_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_entry("a", b"x")
    assert read_entry("a") == b"x"
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert read_entry("a") is None
    os.mkfifo(cache / "b")
    assert read_entry("b") is None


def test_entry_is_read_where_names_in_a_folder_cannot_be_opened(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_files, "_BY_NAME", True)
    assert read_entry("a") is None
    write_entry("a", b"x")
    assert read_entry("a") == b"x"


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="opens names in a folder")
@pytest.mark.parametrize("link", [False, True], ids=["folder", "link"])
@pytest.mark.parametrize("function", ["open", "fstat"])
def test_folder_that_is_exchanged_after_any_step_is_not_read(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, link: bool
) -> None:
    forged = tmp_path / "forged"
    with monkeypatch.context() as patch:
        patch.setenv(entries.VARIABLE, str(forged))
        write_entry("a", b"forged")
    called: Any = getattr(os, function)
    for step in range(1, 3):
        with tables.case(str(step)), monkeypatch.context() as patch:
            write_entry("a", b"own")
            shutil.copytree(forged, tmp_path / "copy", dirs_exist_ok=True)
            steps: list[int] = []

            def exchange(*given: Any, steps: Any = steps, last: int = step, **how: Any) -> Any:
                found = called(*given, **how)
                steps.append(1)
                if len(steps) == last:
                    cache.rename(tmp_path / "own")
                    cache.symlink_to(forged) if link else (tmp_path / "copy").rename(cache)
                return found

            patch.setattr(os, function, exchange)
            assert read_entry("a") == b"own"
            assert len(steps) == 2
        cache.unlink() if link else shutil.rmtree(cache)
        shutil.rmtree(tmp_path / "own")


def test_entry_that_others_can_write_or_exchange_is_not_read(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = cache / "subfolder" / "a"
    for place in (entry, entry.parent):
        for mode in (0o020, 0o002):
            write_entry("a", b"x", "subfolder")
            assert read_entry("a", "subfolder") == b"x"
            with tables.case(f"{place} {mode:o}"):
                usual = place.stat().st_mode
                place.chmod(usual | mode)
                assert read_entry("a", "subfolder") is None
                place.chmod(usual)
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert read_entry("a", "subfolder") is None


def test_cache_is_private_whatever_the_umask(cache: Path) -> None:
    before = os.umask(0)
    try:
        write_entry("a", b"x", "subfolder")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (cache, *cache.rglob("*"))}
    assert modes == {"cache": 0o700, "subfolder": 0o700, "a": 0o600}


def test_a_cache_that_cannot_be_used_is_done_without(
    generated_options: list[GenerationOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    (tmp_path / "file").touch()
    for name, folder in (("none", ""), ("a file", "file"), ("below a file", "file/a")):
        with tables.case(name):
            monkeypatch.setenv(entries.VARIABLE, folder and str(tmp_path / folder))
            assert packages.make_package(OPTIONS) == packages.make_package(OPTIONS)
    monkeypatch.setenv(entries.VARIABLE, str(tmp_path / "read-only"))
    monkeypatch.setattr(file_set, "write_new", refuse)
    assert packages.make_package(OPTIONS) == packages.make_package(OPTIONS)
    assert len(generated_options) == 8
    assert not list((tmp_path / "read-only").iterdir())


def test_input_changed_during_generation_prevents_caching(
    cache: Path, little: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "bridge.py.jinja"
    templated = OPTIONS._replace(templates=tmp_path)

    def before(options: GenerationOptions) -> Package:
        template.write_text("x = 2\n")
        return generate_little(options)

    def both(options: GenerationOptions) -> Package:
        package = before(options)
        template.write_text("x = 1\n")
        return package

    for generate in (before, both):
        with tables.case(generate.__name__):
            monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generate)
            template.write_text("x = 1\n")
            packages.make_package(templated)
            assert not cache.exists()


def test_entries_that_are_not_used_make_room(cache: Path) -> None:
    names = [f"{number:064}" for number in range(40)]
    cache.mkdir()
    (cache / "mine.txt").touch()
    os.utime(cache / "mine.txt", (0, 0))
    (cache / ("f" * 64)).mkdir()  # cannot be removed as a file, and is harmless
    os.utime(cache / ("f" * 64), (0, 0))
    for age, name in enumerate(names[:31], 1):
        write_entry(name, name.encode())
        os.utime(cache / name, (age, age))
    assert read_entry(names[0]) == names[0].encode()
    for name in names[31:]:
        write_entry(name, name.encode())
    left = {path.name for path in cache.iterdir()} - {"mine.txt", "f" * 64}
    assert (cache / "mine.txt").exists()
    assert len(left) == 32 and {names[0], names[-1]} <= left
    assert read_entry(names[1]) is None


WRITER = """
from mcp_protogen.base.cache_entries import write_entry, read_entry
for _ in range(100):
    write_entry("a", b"x" * 50_000)
    assert read_entry("a") == b"x" * 50_000
"""


def test_runs_at_the_same_time_do_no_harm(cache: Path) -> None:
    command = [sys.executable, "-c", WRITER]
    running = [subprocess.Popen(command, env=environment()) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert [path.name for path in cache.iterdir()] == ["a"]


def test_the_folder_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(entries.VARIABLE)
    for platform, variables, folder in (
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/mcp-gen")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, None),
        ("linux", {"XDG_CACHE_HOME": "", "HOME": "/me"}, Path("/me/.cache/mcp-gen")),
        ("darwin", {"HOME": "/me"}, Path("/me/Library/Caches/mcp-gen")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/mcp-gen/Cache")),
        ("win32", {"LOCALAPPDATA": ""}, None),
    ):
        with tables.case(f"{platform} {variables}"), monkeypatch.context() as patch:
            patch.delenv("XDG_CACHE_HOME", raising=False)
            patch.setattr(sys, "platform", platform)
            for name, value in variables.items():
                patch.setenv(name, value)
            assert user_cache() == folder


def test_commands_use_it_unless_they_are_told_not_to(
    cache: Path, mcp_gen: Run, generated_options: list[GenerationOptions], tmp_path: Path
) -> None:
    for number, (arguments, made) in enumerate(
        (
            (("--revision", "2025-11-25", "--out", "a", "--no-cache"), 1),
            (("--revision", "2025-11-25", "--out", "b"), 2),
            (("--revision", "2025-11-25", "--out", "c"), 2),
            (("new", "d", "--revision", "2025-11-25"), 2),
            (("new", "e", "--revision", "2025-11-25", "--no-cache"), 3),
        )
    ):
        with tables.case(f"{number}: {arguments}"):
            assert mcp_gen(*arguments).code == 0
            assert len(generated_options) == made
    # The existing package is compared with a new one before one is written.
    for option, made in ((), 4), (("--no-cache",), 6):
        (tmp_path / "a" / "bridge.py").unlink()
        assert mcp_gen("sync", "a", *option).code == 0
        assert len(generated_options) == made
