"""The replacement of a whole folder: all or nothing, one process at a time.

The complete new tree is staged in a work folder beside the output folder (`.NAME.mcp-gen`),
flushed to the disk, and takes the place of the old one in a single step. A process killed at any
moment leaves the old tree or the new one.

1. `lock` is held through the operating system: a second run waits, and a kill releases it.
2. `new/` is filled. Files that stay are hard links, so they keep their identity and times. Until
   step 3 a failure or a kill costs nothing but this folder.
3. The output folder and `new/` are exchanged atomically. Systems without that (Windows, some
   network file systems) need two renames, the folder to `old/` and `new/` to the folder; a kill
   between them leaves no folder, and the next run finishes the step. A folder that cannot be
   renamed, such as a mount point, is refused.
4. A user's file that was saved during step 3 is moved across; the rest of the old tree is dropped.
   A kill here leaves only rubbish, which the next run in the folder clears.
"""

import os
import shutil
from collections.abc import Collection, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.base.file_set import remove_tree, work_folder, working
from mcp_protogen.base.files import link_or_copy, sync_folder, write_new, writing
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.pipeline.output.exchange import exchange
from mcp_protogen.pipeline.output.tree import file_digest, parents, scan

_HINT = "the folder around the output folder must be writable, and on the same disk"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder `output` locked for a run; the user calls it `named`; `folder` is for the work."""

    output: Path
    named: Path
    folder: Path

    @property
    def _new(self) -> Path:
        return self.folder / "new"

    @property
    def _old(self) -> Path:
        return self.folder / "old"

    def replace(
        self,
        contents: Mapping[str, bytes],
        linked: Collection[str],
        folders: Collection[str],
        expected: Collection[str],
    ) -> tuple[Problem, ...]:
        """Put a new tree in place, as `stage` builds it; return a warning if leftovers remain.

        `expected` are the files of the old tree that are not rescued from it.
        """
        with self.changing():
            self.stage(contents, linked, folders)
            old = self.swap()
        try:
            self.rescue(old, expected)
            self.recover()
        except OSError as error:
            message = f"the files are in place, but leftovers could not be removed: {error}"
            place = str(self.folder)
            return (Problem("leftover-files", message, place, level=Level.WARNING),)
        return ()

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Turn `OSError` while staging or swapping into `ProblemError` (`cannot-write`)."""
        with writing(self.named, _HINT):
            yield

    def stage(
        self, contents: Mapping[str, bytes], linked: Collection[str], folders: Collection[str]
    ) -> None:
        """Build the new tree: `contents` anew, `linked` files and `folders` from the old tree."""
        needed = {parent for path in (*contents, *linked, *folders) for parent in parents(path)}
        everything = sorted(needed | {""} | set(folders))
        for path in everything:
            (self._new / path).mkdir()
        for path in linked:
            link_or_copy(self.output / path, self._new / path)
        # A disk takes many small files at once in little more time than one.
        with ThreadPoolExecutor() as pool:
            list(pool.map(write_new, map(self._new.joinpath, contents), contents.values()))
        for path in reversed(everything):  # rights last: they may forbid writing
            if (self.output / path).is_dir():
                shutil.copymode(self.output / path, self._new / path)
            sync_folder(self._new / path)

    def swap(self) -> Path:
        """Put the staged tree in place, and return the new path of the old one."""
        old = self._new
        if not self.output.exists():
            os.rename(self._new, self.output)
        elif not exchange(self._new, self.output):
            old = self._old
            self._rename_twice()
        sync_folder(self.output.parent)
        return old

    def rescue(self, old: Path, dropped: Collection[str]) -> None:
        """Move files that were saved in the old tree after staging, except those in `dropped`."""
        for path in scan(old).files:
            source, destination = old / path, self.output / path
            if path not in dropped and not _is_same(source, destination):
                destination.parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, destination)

    def recover(self) -> None:
        """Finish or drop the leftovers of an earlier run, except the lock.

        If trees differ, the one in place is newer.
        """
        for leftover in (self._new, self._old):
            if leftover.is_symlink():  # not ours: this program must not move the linked folder
                leftover.unlink()
        if self._old.exists() and self._new.exists() and not self.output.exists():
            os.rename(self._new, self.output)  # killed between the two renames
        for leftover in (self._new, self._old):
            remove_tree(leftover)

    def clean_up(self) -> None:
        """Recover at the end of a run; the next run removes the rest."""
        with suppress(OSError):
            self.recover()

    def _rename_twice(self) -> None:
        os.rename(self.output, self._old)
        try:
            os.rename(self._new, self.output)
        except OSError:
            os.rename(self._old, self.output)
            raise


@contextmanager
def exclusive(output: Path) -> Generator[Workspace, None, None]:
    """Lock `output` for this process: wait for other runs, and repair after a killed one.

    Raise `ProblemError`: `not-a-folder`, `folder-busy` after a minute, or `cannot-write`.
    """
    link, output = output, Path(os.path.realpath(output))
    if output.exists() and not output.is_dir():
        raise ProblemError(Problem("not-a-folder", "this is not a folder", str(link)))
    with ExitStack() as leaving:
        with writing(link, _HINT):
            space = Workspace(output, link, leaving.enter_context(working(output)))
            space.recover()
        leaving.callback(space.clean_up)
        yield space


def repair(output: Path) -> None:
    """Repair the leftovers of a killed run, if any; raise `ProblemError`."""
    if os.path.lexists(work_folder(Path(os.path.realpath(output)))):
        with exclusive(output):
            pass


def _is_same(source: Path, destination: Path) -> bool:
    if not os.path.lexists(destination):
        return False
    if source.is_symlink() or destination.is_symlink():
        both = source.is_symlink() and destination.is_symlink()
        return both and os.readlink(source) == os.readlink(destination)
    return source.samefile(destination) or file_digest(source) == file_digest(destination)
