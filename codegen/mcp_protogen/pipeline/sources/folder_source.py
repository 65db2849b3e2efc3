"""Published schemas in a plain folder with the layout of the specification's repository."""

from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.sources.source import PublishedFile, SourceListing, listing_of, path_of
from mcp_protogen.pipeline.sources.upstream import read_source, unreadable


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder with `schema/<revision>/schema.json`; only these files are read."""

    folder: Path
    kind: str = "folder"
    commit: str | None = None
    repository: str | None = None

    @property
    def name(self) -> str:
        """The folder as the user named it."""
        return str(self.folder)

    def listing(self) -> SourceListing:
        """Return all folders below `schema` with a schema."""
        try:
            names = [entry.name for entry in (self.folder / "schema").iterdir()]
            found = [name for name in names if (self.folder / path_of(name)).is_file()]
        except OSError as error:
            message = f"the folder schema cannot be read: {error.strerror or error}"
            raise ProblemError(Problem("unreadable-source", message, self.name)) from error
        return listing_of(found, self.name)

    def read(self, path: str) -> PublishedFile | None:
        """Return the bytes of a file, without a day: file times are not publication dates."""
        file = self.folder / path
        try:
            mode = file.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(str(file), error.strerror or str(error)) from error
        if not S_ISREG(mode):  # reading from a pipe would wait for a writer
            raise unreadable(str(file), "it is not a file")
        return PublishedFile(read_source(str(file)))
