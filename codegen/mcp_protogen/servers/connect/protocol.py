"""The generated package with which the commands speak: all revisions, parts and extensions.

It is made by the generator like any other, imports the runtime that is installed with it, and is
kept in the user's folder of caches, so that it is made once for each version of mcp-gen.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from logging import ERROR, getLogger
from pathlib import Path
from time import time
from types import ModuleType
from typing import Final, TypeAlias

from mcp_protogen.base.cache_entries import user_cache
from mcp_protogen.base.canonical import digest, digest_files
from mcp_protogen.base.private_files import is_private_folder
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import runtime_files, runtime_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.output.workspace import exclusive, repair
from mcp_protogen.pipeline.parts import PARTS

NAME: Final = "mcp_gen_protocol"
"""What the package is called among the imported modules."""

Make: TypeAlias = Callable[[], Mapping[str, bytes]]
"""Makes the files of the package, by path."""

Making: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Surrounds the seconds in which the package is made."""

_log: Final = getLogger("mcp_protogen.servers.connect")

_RUNTIME: Final = "mcp_protogen.runtime"
_STAGED: Final = ".protocol-"
_KEPT: Final = 8
"""How many of these packages stay in the cache, those that were used last.

A bridge of another version may run for days, and imports revisions when they are spoken.
"""
_ABANDONED: Final = 86_400.0
"""The age at which a package that nobody has finished is removed, in seconds."""


def protocol(making: Making = nullcontext) -> ModuleType:
    """Return the package; raise `ProblemError` (`cannot-write`) if there is no room for it.

    Only the first call of a version of mcp-gen makes it, or each process where there is no cache.
    """
    if NAME in sys.modules:
        return sys.modules[NAME]
    options = GenerationOptions(
        tuple(sorted(load_pins())),
        runtime=_RUNTIME,
        parts=tuple(sorted(PARTS)),
        extensions=dict.fromkeys(extension_names()),
    )
    make = partial(_generate, options, making)
    folder = _kept(options, make) or _temporary(make)
    spec = spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[NAME] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # Half of it would be taken for the whole the next time.
        del sys.modules[NAME]
        raise
    # Commands show what is lost in a form of their own.
    getLogger(f"{_RUNTIME}.core.losses").setLevel(ERROR)
    return module


def _kept(options: GenerationOptions, make: Make) -> Path | None:
    """Return the folder of the package in the cache, made if need be; None without a cache."""
    cached = user_cache()
    if cached is None:
        return None
    made_from = {
        "inputs": read_inputs(options).as_json(),
        "python": sys.version,
        "runtime": digest_files(runtime_folder(), runtime_files()),
    }
    cached = Path(os.path.realpath(cached))
    folder = cached / f"protocol-{digest(made_from)[:32]}"
    if not os.path.lexists(folder):
        files = make()
        try:
            cached.mkdir(parents=True, exist_ok=True, mode=0o700)
            _put(files, folder)
        except (OSError, ProblemError):  # what cannot be kept is made anew each time
            return None
        _forget_others(cached)
    with suppress(OSError, ProblemError):
        repair(folder)
        os.utime(folder)
    return folder if is_private_folder(folder) else None


def _put(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the package to a folder that appears when it is complete; raise `OSError`."""
    with exclusive(folder) as space:
        if not folder.exists():  # else, another run was faster
            space.stage(files, (), (), mode=0o700)
            space.swap()


def _forget_others(cached: Path) -> None:
    """Remove the packages that were not used for the longest time, and what a kill has left."""
    kept = sorted(cached.glob("protocol-*"), key=_used, reverse=True)
    left = (one for one in cached.glob(f"{_STAGED}*") if time() - _used(one) > _ABANDONED)
    for folder in (*kept[_KEPT:], *left):
        shutil.rmtree(folder, ignore_errors=True)


def _used(folder: Path) -> float:
    """Return when a folder was used; another run may remove it meanwhile."""
    try:
        return folder.lstat().st_mtime
    except FileNotFoundError:
        return 0.0


def _temporary(make: Make) -> Path:
    """Return a folder with the package, which goes when this process ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="mcp-gen-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for path, content in make().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    except OSError as error:
        message = f"mcp-gen cannot write a package that it needs: {error.strerror}"
        raise ProblemError(Problem("cannot-write", message, tempfile.gettempdir())) from error
    return folder


def _generate(options: GenerationOptions, making: Making) -> Mapping[str, bytes]:
    _log.info("making what is needed on the first run of this version of mcp-gen")
    with making():
        # Slow to import, and not needed where the package is kept. It is not tried: it is used at
        # once.
        from mcp_protogen.pipeline.generate import generate

        return {file.path: file.content for file in generate(options).files}
