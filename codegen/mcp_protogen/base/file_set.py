"""Several files written as one: after a kill, the next run leaves all of them old or all new.

One of the files leads the others: all are below its folder, and the work folder is beside it
(`.NAME.mcp-gen`).

1. `lock` in the work folder keeps other runs out.
2. `staged/` gets the new files, each at its path below the folder, and `old/` links to the files
   that they replace. A failure or a kill until here costs only the work folder.
3. `staged/` is renamed to `new/`. This one step decides that the files are new.
4. The files in `new/` take their places. If one cannot, the old files return to theirs. After a
   kill, the next run repeats this step.

A work folder may come from a stranger, with an archive or in a shared folder. Therefore it must
belong to this user, `new/` may contain only folders and files, and no link may lead elsewhere.
"""

import os
import stat
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import ELOOP
from pathlib import Path
from typing import NamedTuple

from mcp_protogen.base.files import link_or_copy, sync_folder, write_new, writing
from mcp_protogen.base.private_files import is_own
from mcp_protogen.base.problems import Problem, ProblemError

_STAGED, _NEW, _OLD = "staged", "new", "old"


class FileSet(NamedTuple):
    """Exclusive hold of files below `folder`; `work` is the work folder."""

    folder: Path
    work: Path

    def write(
        self, contents: Mapping[Path, bytes], *, mode: int = 0o666, durable: bool = True
    ) -> None:
        """Write all files or none, creating folders; `durable` ones survive a loss of power.

        Raise `OSError` if a file cannot be written; then nothing has changed.
        """
        staged, old = self.work / _STAGED, self.work / _OLD
        files = {self._name(path): content for path, content in contents.items()}
        if not files:
            return
        for name, content in files.items():
            for part in (staged, old):
                (part / name).parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(self.folder / name) and len(files) > 1:
                link_or_copy(self.folder / name, old / name)
            write_new(staged / name, content, mode=mode, durable=durable)
        if durable:
            _sync_parents(staged, files)
        os.rename(staged, self.work / _NEW)
        if durable:
            sync_folder(self.work)
        try:
            self._put_in_place(files, durable=durable)
        except OSError:
            self._put_back(files)
            raise
        with suppress(OSError):  # only empty folders are left
            remove_tree(self.work / _NEW)

    def recover(self) -> None:
        """Finish a change that a killed run had decided, and remove its other leftovers.

        Raise `ProblemError` (`foreign-file`) for leftovers that this user's run cannot have made.
        """
        if os.path.lexists(self.work / _NEW):
            self._put_in_place(self._read_journal())
            remove_tree(self.work / _NEW)
        self.clean_up()

    def clean_up(self) -> None:
        """Remove everything except the lock, unless the next run must repeat step 4."""
        if not os.path.lexists(self.work / _NEW):
            for part in (_STAGED, _OLD):
                remove_tree(self.work / part)

    def _name(self, path: Path) -> Path:
        """Return the path below the folder; raise `OSError` if a link leads out of it."""
        parent, folder = map(os.path.realpath, (path.parent, self.folder))
        if not Path(parent).is_relative_to(folder):
            raise OSError(ELOOP, "a link leads out of the folder", str(path))
        return Path(parent).relative_to(folder) / path.name

    def _put_in_place(self, names: Iterable[Path], *, durable: bool = True) -> None:
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.work / _NEW / name, self.folder / name)
        if durable:
            _sync_parents(self.folder, names)

    def _put_back(self, names: Iterable[Path]) -> None:
        """Return the old files to their places.

        At each moment, a file is new or is in `new/`, so that the next run can repeat step 4.
        """
        for name in names:
            if not os.path.lexists(self.work / _NEW / name):
                link_or_copy(self.folder / name, self.work / _NEW / name)
                if os.path.lexists(self.work / _OLD / name):
                    os.replace(self.work / _OLD / name, self.folder / name)
                else:
                    (self.folder / name).unlink()
        os.rename(self.work / _NEW, self.work / _STAGED)

    def _read_journal(self) -> list[Path]:
        """Return the paths below `new/`; raise `ProblemError` unless this user's run made it."""
        new, names = self.work / _NEW, list[Path]()
        folder = Path(os.path.realpath(self.folder))
        for path in (new, *sorted(new.rglob("*"))):
            name, found = path.relative_to(new), path.lstat()
            parent = folder / name.parent
            if not is_own(found) or Path(os.path.realpath(parent)) != parent:
                message = "this was not left by an interrupted run of this user"
                hint = f"look into it, and remove {self.work}"
                raise ProblemError(Problem("foreign-file", message, str(path), hint=hint))
            if stat.S_ISREG(found.st_mode):
                names.append(name)
        return names


def write_files(
    contents: Mapping[Path, bytes],
    lead: Path | None = None,
    *,
    hint: str = "",
    mode: int = 0o666,
    durable: bool = True,
) -> None:
    """Write all files or none; `lead`, by default the first of them, leads the set.

    Without contents, remove what a killed run has left. Raise `ProblemError` (`cannot-write`).
    """
    lead = lead or next(iter(contents))
    if contents or os.path.lexists(work_folder(lead)):
        with writing(lead, hint), hold_files(lead) as files:
            files.write(contents, mode=mode, durable=durable)


def finish(lead: Path) -> None:
    """Finish a change that a killed run has decided, before the files are read."""
    if os.path.lexists(work_folder(lead) / _NEW):
        with writing(lead), hold_files(lead):
            pass


@contextmanager
def hold_files(lead: Path) -> Generator[FileSet, None, None]:
    """Hold the files that `lead` leads: wait for other runs, and finish what a killed one decided.

    Raise `OSError`, or `ProblemError` (`folder-busy`, `foreign-file`).
    """
    with working(lead) as work:
        files = FileSet(lead.parent, work)
        files.recover()
        try:
            yield files
        finally:
            with suppress(OSError):  # the next run removes the rest
                files.clean_up()


def work_folder(folder: Path) -> Path:
    """Return the work folder of a folder, or of a file that leads others."""
    return folder.with_name(f".{folder.name}.mcp-gen")


@contextmanager
def working(folder: Path) -> Generator[Path, None, None]:
    """Lock the work folder of `folder`, and create the folders around it while they are needed."""
    from mcp_protogen.base.folder_lock import exclusive_lock  # most runs only read

    with ExitStack() as leaving:
        leaving.callback(_remove_empty, _make_folder(folder.parent))
        leaving.enter_context(exclusive_lock(work_folder(folder)))
        yield work_folder(folder)


def remove_tree(path: Path) -> None:
    """Remove a folder with its content, or a link alone, if it exists."""
    if path.is_symlink():  # the linked folder must stay
        path.unlink()
    elif path.exists():
        import shutil

        shutil.rmtree(path)


def _sync_parents(folder: Path, names: Iterable[Path]) -> None:
    for parent in {parent for name in names for parent in name.parents}:
        sync_folder(folder / parent)


def _make_folder(folder: Path) -> list[Path]:
    """Create `folder` with its parents; return those that were missing, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # not empty: the output is in it
            folder.rmdir()
