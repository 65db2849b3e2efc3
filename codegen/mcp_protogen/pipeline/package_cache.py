"""Packages that can be imported: newly generated and tried, or from the cache.

A package is cached under a digest of all its inputs, the whole schema folder, the generator with
its tools, and Python. Packages with an installed runtime are not cached, because that may change,
and neither are those of third-party targets.
"""

import gc
import json
import os
import sys
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp_protogen.base.cache_entries import read_entry, write_entry
from mcp_protogen.base.canonical import canonical, digest, digest_files, sha256
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.package import GeneratedFile, GenerationInputs, Package

_CODE = Path(__file__).resolve().parent
# The code that tries packages; the generating code is among the inputs.
_TRYING = "output"
# Libraries that make and try packages.
_METADATA = ".dist-info"
_YOUNG = 1_000_000  # more objects than all published revisions need
_TOOLS = ("black", "datamodel-code-generator", "jinja2", "jsonschema", "pydantic")


def make_package(options: GenerationOptions, *, cached: bool = True) -> Package:
    """Return the package for some options; `cached` allows the user's cache.

    Raise `ProblemError` with all problems.
    """
    if not cached or options.runtime is not None or options.distribution:
        return _generate_package(options)
    inputs = read_inputs(options)
    name = _key(options, inputs)
    if cached_package := _read_cached(name, inputs):
        return cached_package
    package = _generate_package(options)
    # Inputs may have changed meanwhile; those of the package were read after its content.
    if _key(options, package.inputs) == name:
        write_entry(name, _pack(package))
    return package


def _generate_package(options: GenerationOptions) -> Package:
    with _with_little_garbage_collection():
        # Slow to import, and not needed for a cached package.
        from mcp_protogen.pipeline.generate import generate
        from mcp_protogen.pipeline.output import trial

        package = generate(options)
        warnings = trial.try_package(package, options)
    return package._replace(warnings=(*package.warnings, *warnings))


@contextmanager
def _with_little_garbage_collection() -> Generator[None, None, None]:
    # Generating lasts a second, and keeps most of its objects until its end.
    usual = gc.get_threshold()
    gc.set_threshold(_YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _key(options: GenerationOptions, inputs: GenerationInputs) -> str:
    """Return the digest under which the package of these inputs is cached."""
    return digest(
        {
            "code": digest_files(_CODE, (_CODE / _TRYING).glob("*.py")),
            "extensions": sorted(options.extensions),
            "inputs": inputs.as_json(),
            "made": options.revisions,
            "names": options.names and (options.names.name, sha256(options.names.content)),
            "python": sys.version,
            "rules": _digests(options.rules.items()),
            "schema folder": digest_files(schema_folder(), schema_folder().glob("**/*.json")),
            "schemas": _digests(options.schemas.items()),
            "tools": _versions(),
        }
    )


def _versions() -> dict[str, str]:
    """Return the version of each tool, from the name of its metadata folder.

    `importlib.metadata`, the fallback, is slow to import.
    """
    found: dict[str, str] = {}
    for place in sys.path:
        with suppress(OSError):
            for name in os.listdir(place or os.curdir):
                tool, _, version = name.removesuffix(_METADATA).partition("-")
                if name.endswith(_METADATA):
                    found.setdefault(tool.lower().replace("_", "-"), version)
    return {tool: found.get(tool) or _version(tool) for tool in _TOOLS}


def _version(tool: str) -> str:
    from importlib.metadata import version

    return version(tool)


def _digests(given: Iterable[tuple[str, GivenFile]]) -> dict[str, Any]:
    return {revision: (file.name, sha256(file.content)) for revision, file in given}


def _pack(package: Package) -> bytes:
    content = {
        "files": [(file.path, file.origin, file.content.decode()) for file in package.files],
        "warnings": [warning._asdict() for warning in package.warnings],
    }
    return zlib.compress(canonical(content), 1)


def _read_cached(name: str, inputs: GenerationInputs) -> Package | None:
    packed = read_entry(name)
    if packed is None:
        return None
    content = json.loads(zlib.decompress(packed))
    files = (GeneratedFile(path, text.encode(), origin) for path, origin, text in content["files"])
    warnings = (
        Problem(**{**warning, "level": Level(warning["level"])}) for warning in content["warnings"]
    )
    return Package(tuple(files), inputs, tuple(warnings))
