"""Which functions of some packages a process enters, and how often control returns to a module."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType


class Trace:
    """The functions of some packages that are entered, in order, by the files they are in."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._folders = tuple(f"{_folder(name)}{os.sep}" for name in packages)
        self._files: list[str] = []
        self._recording = False

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take in what the interpreter does, in whichever thread; see `sys.setprofile`."""
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
        """Count functions entered, modules, and how often control came back to a module."""
        files = self._files
        entered = [new for old, new in zip(["", *files], files, strict=False) if new != old]
        modules = len(set(files))
        return {"calls": len(files), "modules": modules, "returns": len(entered) - modules}


def _folder(package: str) -> Path:
    file = import_module(package).__file__
    assert file is not None
    return Path(file).parent
