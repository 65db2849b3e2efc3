"""A store of tasks in a folder, for the processes of one machine; tasks outlive all of them.

    lock                one process writes at a time
    tasks/KEY           a task: a line of JSON with the data of the store, and the record
    owners/OWNER/KEY    an empty file: this owner has a task of that key, or had one

Names are hexadecimal, since a file system may ignore case. A task file's modification time is when
its lease or the task itself lapses. So renewing a lease writes no file.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Final, NamedTuple, ParamSpec, TypeVar

from ..core.files import FOLDER_MODE, hold_lock, replace_file
from ..core.json import is_object, json_text, read_json
from .engine import EngineUnavailable, StoredTask

# File systems have no infinity; this is in the year 2100.
_NEVER: Final = 4102444800.0

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Record(NamedTuple):
    key: str
    owner: str
    version: int
    ends_at: float | None
    leased: bool
    record: bytes

    def due(self, now: float, lease: float | None) -> float:
        times = [_NEVER if self.ends_at is None else self.ends_at]
        if self.leased and lease is not None:
            times.append(now + lease)
        # File systems need not support times before their epoch.
        return max(min(times), 0.0)


class FileTaskStore:
    """Tasks in a folder that only its user can read; `clock` gives seconds since the epoch.

    All processes of one machine may use it, but not those of several machines over a network.
    Methods raise `EngineUnavailable` if the file system fails.
    """

    def __init__(self, folder: str | os.PathLike[str], clock: Callable[[], float] = time) -> None:
        self._folder = Path(folder).expanduser()
        self._clock = clock

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._folder)!r})"

    async def create(
        self,
        key: str,
        record: bytes,
        *,
        owner: str,
        ends_at: float | None,
        lease: float | None,
        most: int,
    ) -> bool:
        entry = _Record(key, owner, 1, ends_at, lease is not None, record)
        return await self._changing(self._create, entry, lease, most)

    async def get(self, key: str) -> StoredTask | None:
        return await _in_thread(self._get, key)

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        return await _in_thread(self._versions, list(keys))

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        new = _Record(key, "", version, ends_at, lease is not None, record)
        return await self._changing(self._replace, new, lease)

    async def renew(self, keys: Collection[str], lease: float) -> None:
        await self._changing(self._renew, list(keys), lease)

    async def delete(self, key: str) -> None:
        await self._changing(self._delete, key)

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        return await _in_thread(self._page, owner, after, size)

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        return await self._changing(self._take_overdue, lease, most)

    async def _changing(self, work: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
        def change() -> _T:
            with hold_lock(self._folder / "lock"):
                for folder in (self._tasks, self._folder / "owners"):
                    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
                return work(*given, **named)

        return await _in_thread(change)

    @property
    def _tasks(self) -> Path:
        return self._folder / "tasks"

    def _file(self, key: str) -> Path:
        return self._tasks / _name(key)

    def _owner_folder(self, owner: str) -> Path:
        return self._folder / "owners" / f"of-{_name(owner)}"

    # The following run in threads; those that write hold the lock.

    def _create(self, entry: _Record, lease: float | None, most: int) -> bool:
        if (old := self._live(entry.key)) is not None:
            return old.version == 1 and old.record == entry.record
        owned = self._owner_folder(entry.owner)
        owned.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if len(os.listdir(owned)) >= most and self._still_owned(owned) >= most:
            return False
        # If this process is killed in between, the name has no task, and is removed later.
        (owned / _name(entry.key)).touch(mode=0o600)
        self._write(entry, lease)
        return True

    def _still_owned(self, owned: Path) -> int:
        names = os.listdir(owned)
        gone = [name for name in names if self._live(_key(name)) is None]
        for name in gone:
            (owned / name).unlink(missing_ok=True)
            (self._tasks / name).unlink(missing_ok=True)
        return len(names) - len(gone)

    def _get(self, key: str) -> StoredTask | None:
        entry = self._live(key)
        return entry and StoredTask(key, entry.record, entry.version, self._clock())

    def _versions(self, keys: list[str]) -> dict[str, int]:
        return {key: entry.version for key in keys if (entry := self._live(key)) is not None}

    def _replace(self, new: _Record, lease: float | None) -> bool:
        if (entry := self._live(new.key)) is None or entry.version != new.version:
            return False
        self._write(new._replace(owner=entry.owner, version=entry.version + 1), lease)
        return True

    def _renew(self, keys: list[str], lease: float) -> None:
        for key in keys:
            if (entry := self._live(key)) is not None:
                self._set_due(entry, lease)

    def _set_due(self, entry: _Record, lease: float | None) -> None:
        due = entry.due(self._clock(), lease)
        os.utime(self._file(entry.key), (due, due))

    def _delete(self, key: str) -> None:
        entry = _read(self._file(key))
        self._file(key).unlink(missing_ok=True)
        if entry is not None:
            owned = self._owner_folder(entry.owner)
            (owned / _name(key)).unlink(missing_ok=True)
            # It stays as long as it has other entries.
            with suppress(OSError):
                owned.rmdir()

    def _page(self, owner: str, after: str, size: int) -> list[StoredTask]:
        try:
            names = sorted(os.listdir(self._owner_folder(owner)))
        except FileNotFoundError:
            return []
        tasks = list[StoredTask]()
        for name in names:
            if len(tasks) == size:
                break
            if name > _name(after) and (task := self._get(_key(name))) is not None:
                tasks.append(task)
        return tasks

    def _take_overdue(self, lease: float, most: int) -> list[StoredTask]:
        tasks = list[StoredTask]()
        for key in self._due():
            if (entry := self._live(key)) is None:
                self._delete(key)
            elif not entry.leased:
                # Its time was changed from outside.
                self._set_due(entry, None)
            elif len(tasks) < most:
                self._renew([key], lease)
                tasks.append(StoredTask(key, entry.record, entry.version, self._clock()))
        return tasks

    def _due(self) -> list[str]:
        now, due = self._clock(), list[tuple[float, str]]()
        with os.scandir(self._tasks) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    # Its writer was killed: every writer holds the lock.
                    os.unlink(entry.path)
                elif (modified := entry.stat().st_mtime) <= now:
                    due.append((modified, _key(entry.name)))
        return [key for _, key in sorted(due)]

    def _live(self, key: str) -> _Record | None:
        entry = _read(self._file(key))
        ends_at = None if entry is None else entry.ends_at
        return None if ends_at is not None and ends_at <= self._clock() else entry

    def _write(self, entry: _Record, lease: float | None) -> None:
        head = {"key": entry.key, "owner": entry.owner, "version": entry.version}
        head |= {"ends_at": entry.ends_at, "leased": entry.leased}
        content = json_text(head) + b"\n" + entry.record
        replace_file(self._file(entry.key), content, modified=entry.due(self._clock(), lease))


async def _in_thread(work: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    try:
        return await asyncio.to_thread(work, *given, **named)
    except OSError as error:
        # The path is no secret, but the obstacle may be private.
        raise EngineUnavailable(f"the folder of tasks cannot be used: {error.strerror}") from error


def _name(key: str) -> str:
    return key.encode().hex()


def _key(name: str) -> str:
    return bytes.fromhex(name).decode()


def _read(path: Path) -> _Record | None:
    try:
        head, _, record = path.read_bytes().partition(b"\n")
        known = read_json(head)
    except (FileNotFoundError, ValueError):
        return None
    if not is_object(known) or known.keys() != {*_Record._fields} - {"record"}:
        return None
    return _Record(**known, record=record)
