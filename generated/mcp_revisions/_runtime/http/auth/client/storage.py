"""Where tokens and registrations are kept: in memory, in a file, or in the keyring of the system.

Tokens are secrets, at rest too (2026-07-28, basic/authorization/security-considerations, "Token
Theft").
"""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from json import JSONDecodeError, dumps, loads
from logging import getLogger
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final, Protocol

from ....core.json import is_object

_log: Final = getLogger(__name__)

# For the user alone.
_FILE: Final = 0o600
_FOLDER: Final = 0o700


class TokenStorage(Protocol):
    """Keeps texts by key. All of the texts are secret; keys have no secret in them."""

    async def get(self, key: str) -> str | None:
        """Return what is kept; None if nothing is."""
        ...

    async def set(self, key: str, value: str) -> None:
        """Keep a text in place of what was kept."""
        ...

    async def delete(self, key: str) -> None:
        """Forget a text; do nothing if there is none."""
        ...


class MemoryStorage:
    """Keeps everything until the process ends."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self._kept.get(key)

    async def set(self, key: str, value: str) -> None:
        self._kept[key] = value

    async def delete(self, key: str) -> None:
        self._kept.pop(key, None)


class FileStorage:
    """Keeps everything in one file, which only its user can read.

    Several processes may share the file: it is replaced as a whole, by one of them at a time.
    Methods raise `OSError`, and `ValueError` for a file that something else has written.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._path)!r})"

    async def get(self, key: str) -> str | None:
        return (await asyncio.to_thread(self._read)).get(key)

    async def set(self, key: str, value: str) -> None:
        await asyncio.to_thread(self._change, key, value)

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._change, key, None)

    def _change(self, key: str, value: str | None) -> None:
        self._path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        with _locked(self._path.with_name(f"{self._path.name}.lock")):
            kept = self._read()
            if kept.get(key) == value:
                return
            kept.pop(key, None)
            if value is not None:
                kept[key] = value
            self._write(dumps(kept, indent=1))

    def _read(self) -> dict[str, str]:
        try:
            with self._path.open(encoding="utf-8") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    _log.warning("others could read %s; that is changed now", self._path)
                    os.fchmod(file.fileno(), _FILE)
                text = file.read()
        except FileNotFoundError:
            return {}
        try:
            kept: Any = loads(text) if text.strip() else {}
        except JSONDecodeError:
            kept = None
        if not is_object(kept) or not all(isinstance(value, str) for value in kept.values()):
            # Whatever it is, it is not ours to replace.
            raise ValueError(f"{self._path} is not a file of tokens")
        return kept

    def _write(self, text: str) -> None:
        # A new file has the mode 0600.
        descriptor, name = mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def _locked(path: Path) -> Generator[None, None, None]:
    """Hold a lock that is of one thread of all processes."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _FILE)
    try:
        if os.name == "posix":
            # It ends when the file is closed, or the process is gone.
            fcntl = import_module("fcntl")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        else:
            msvcrt = import_module("msvcrt")
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        yield
    finally:
        os.close(descriptor)


class KeyringStorage:
    """Keeps everything in the keyring of the system, by the package keyring.

    Methods raise what that raises, such as `keyring.errors.NoKeyringError`.
    """

    __slots__ = ("_keyring", "_service")

    def __init__(self, service: str = "mcp") -> None:
        """Use the entries of a service; raise `ImportError` if keyring is not installed."""
        try:
            self._keyring: Any = import_module("keyring")
        except ImportError:
            text = "KeyringStorage needs the package keyring: pip install keyring"
            raise ImportError(text) from None
        self._service = service

    async def get(self, key: str) -> str | None:
        found: str | None = await asyncio.to_thread(self._keyring.get_password, self._service, key)
        return found

    async def set(self, key: str, value: str) -> None:
        await asyncio.to_thread(self._keyring.set_password, self._service, key, value)

    async def delete(self, key: str) -> None:
        if await self.get(key) is not None:
            await asyncio.to_thread(self._keyring.delete_password, self._service, key)
