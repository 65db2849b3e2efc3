"""The functions of some packages that a process enters, and returns to their modules."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType


class Trace:
    """The entered functions of some packages, in order, by their files."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._folders = tuple(f"{_folder(name)}{os.sep}" for name in packages)
        self._files: list[str] = []
        self._recording = False

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record an event of the interpreter, in any thread; see `sys.setprofile`."""
        if self._recording and event == "call":
            file = frame.f_code.co_filename
            if file.startswith(self._folders):
                self._files.append(file)

    @contextmanager
    def recording(self) -> Generator[None, None, None]:
        """Record until the end of the block."""
        self._files = []
        self._recording = True
        try:
            yield
        finally:
            self._recording = False

    def figures(self) -> dict[str, int]:
        """Return the numbers of functions entered, modules, and returns to a module."""
        files = self._files
        entered = [new for old, new in zip(["", *files], files, strict=False) if new != old]
        modules = len(set(files))
        return {"calls": len(files), "modules": modules, "returns": len(entered) - modules}


def _folder(package: str) -> Path:
    file = import_module(package).__file__
    assert file is not None
    return Path(file).parent
