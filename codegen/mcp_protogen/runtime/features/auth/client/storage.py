"""Where tokens and registrations are kept, which are secrets at rest, too."""

import asyncio
import os
from json import JSONDecodeError, dumps, loads
from logging import getLogger
from pathlib import Path
from typing import Any, Final, Protocol

from ....core.files import FILE_MODE, FOLDER_MODE, hold_lock, replace_file
from ....core.json import is_object
from ....core.libraries import library

_log: Final = getLogger(__name__)


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
        self._path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with hold_lock(self._path.with_name(f"{self._path.name}.lock")):
            kept = self._read()
            if kept.get(key) == value:
                return
            kept.pop(key, None)
            if value is not None:
                kept[key] = value
            replace_file(self._path, dumps(kept, indent=1).encode())

    def _read(self) -> dict[str, str]:
        try:
            with self._path.open(encoding="utf-8") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    _log.warning("others could read %s; that is changed now", self._path)
                    os.fchmod(file.fileno(), FILE_MODE)
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


class KeyringStorage:
    """Keeps everything in the keyring of the system, by the package keyring.

    Methods raise what that raises, such as `keyring.errors.NoKeyringError`.
    """

    def __init__(self, service: str = "mcp") -> None:
        """Use the entries of a service; raise `ImportError` if keyring is not installed."""
        self._keyring = library("keyring", "KeyringStorage")
        self._service = service

    async def get(self, key: str) -> str | None:
        found: str | None = await asyncio.to_thread(self._keyring.get_password, self._service, key)
        return found

    async def set(self, key: str, value: str) -> None:
        await asyncio.to_thread(self._keyring.set_password, self._service, key, value)

    async def delete(self, key: str) -> None:
        if await self.get(key) is not None:
            await asyncio.to_thread(self._keyring.delete_password, self._service, key)
