"""Fast generation, for tests about the use of the files."""

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp_protogen.base.names import extension_module, module_name
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit import formatting
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.output.trial import import_package
from mcp_protogen.pipeline.package import GeneratedFile, Package
from mcp_protogen.pipeline.parts import DEFAULT
from mcp_protogen.pipeline.target import TargetOptions


def write_files(files: Iterable[GeneratedFile], folder: Path) -> list[Path]:
    """Write generated files into a folder, and return their places."""
    places: list[Path] = []
    for file in files:
        places.append(folder / file.path)
        places[-1].parent.mkdir(parents=True, exist_ok=True)
        places[-1].write_bytes(file.content)
    return places


def generate_little(options: GenerationOptions) -> Package:
    """Return a package with few files, made from the same inputs as a real one."""
    inputs = read_inputs(options)
    mine = options.templates and options.templates / "bridge.py.jinja"
    bridge = mine.read_bytes() if mine and mine.is_file() else b'"""Usual."""\n'
    files = [GeneratedFile("bridge.py", bridge, "template bridge.py.jinja")]
    listed = f"REVISIONS = {sorted({*options.revisions, *options.kept})}\n".encode()
    files.append(GeneratedFile("__init__.py", listed, "template package.py.jinja"))
    files.append(GeneratedFile("py.typed", b"", "template py.typed.jinja"))
    for part in sorted({*options.parts} - {*DEFAULT}):
        files.append(GeneratedFile(f"_runtime/{part}.py", b'"""Usual."""\n', "runtime"))
    for name, revisions in ((name, read.revisions) for name, read in inputs.extensions.items()):
        made = name in options.extensions
        for folder in (
            f"{module_name(given_revision)}/ext" for given_revision in revisions if made
        ):
            path = f"{folder}/{extension_module(name)}/models.py"
            files.append(GeneratedFile(path, b'"""Of an extension."""\n', "extension"))
            files.append(GeneratedFile(f"{folder}/__init__.py", b"", "extensions"))
    for revision in options.revisions:
        path, content = f"{module_name(revision)}/models.py", f'"""Of {revision}."""\n'.encode()
        files.append(GeneratedFile(path, content, f"schema of {revision}"))
    return Package(tuple(sorted(files, key=lambda file: file.path)), inputs)


def require_importable(package: Package, untried: Collection[str] = ()) -> tuple[Problem, ...]:
    """Raise `ProblemError` for each module of a package that cannot be imported.

    Connect the `untried` revisions, and return warnings.
    """
    said = package.inputs.options
    templates = Path() if "templates" in said else None
    target = TargetOptions() if "target" in said else None
    options = GenerationOptions((), templates=templates, runtime=said.get("runtime"), target=target)
    return import_package(package, options, untried)


def trying_nothing(package: Package, options: GenerationOptions) -> tuple[Problem, ...]:
    """Assume that modules can be imported."""
    return ()


def _keep_layout(source: str, **_: object) -> str:
    return source


@contextmanager
def without_layout() -> Generator[None, None, None]:
    """Let generated modules have the layout of their templates: black takes most of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(formatting, "format_module", _keep_layout)
        yield
