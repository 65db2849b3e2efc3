"""Stores of tokens and registrations, which are secret."""

import asyncio
import os
from json import dumps
from logging import getLogger
from pathlib import Path
from typing import Final, Protocol

from ....core.files import FILE_MODE, hold_lock, replace_file
from ....core.libraries import library
from ..json_objects import object_in

_log: Final = getLogger(__name__)


class TokenStorage(Protocol):
    """A store of texts by key. Texts are secret, keys are not."""

    async def get(self, key: str) -> str | None:
        """Return the text; None without one."""
        ...

    async def set(self, key: str, value: str) -> None:
        """Store a text, in place of an earlier one."""

    async def delete(self, key: str) -> None:
        """Delete a text, if it exists."""


class MemoryStorage:
    """A store in memory, until the process ends."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self._kept.get(key)

    async def set(self, key: str, value: str) -> None:
        self._kept[key] = value

    async def delete(self, key: str) -> None:
        self._kept.pop(key, None)


class FileStorage:
    """A store in one file that only its user can read.

    Processes may share the file: each change replaces it as a whole, under a lock. Methods raise
    `OSError`, and `ValueError` for a file of another kind.
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
        with hold_lock(self._path.with_name(f"{self._path.name}.lock")):
            values = self._read()
            if values.get(key) == value:
                return
            values.pop(key, None)
            if value is not None:
                values[key] = value
            replace_file(self._path, dumps(values, indent=1).encode())

    def _read(self) -> dict[str, str]:
        try:
            with self._path.open(encoding="utf-8") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    _log.warning("others could read %s: its mode is now 600", self._path)
                    os.fchmod(file.fileno(), FILE_MODE)
                text = file.read()
        except FileNotFoundError:
            return {}
        values = object_in(text) if text.strip() else {}
        if values is None or not all(isinstance(value, str) for value in values.values()):
            # Do not replace a file of another kind.
            raise ValueError(f"{self._path} is not a token file: choose another path")
        return values


class KeyringStorage:
    """A store in the system's keyring, by the package keyring.

    Methods raise its errors, such as `keyring.errors.NoKeyringError`.
    """

    def __init__(self, service: str = "mcp") -> None:
        """Use the entries of a service; raise `ImportError` if keyring is not installed."""
        self._keyring = library("keyring", "KeyringStorage")
        self._service = service

    async def get(self, key: str) -> str | None:
        value: str | None = await asyncio.to_thread(self._keyring.get_password, self._service, key)
        return value

    async def set(self, key: str, value: str) -> None:
        await asyncio.to_thread(self._keyring.set_password, self._service, key, value)

    async def delete(self, key: str) -> None:
        if await self.get(key) is not None:
            await asyncio.to_thread(self._keyring.delete_password, self._service, key)
