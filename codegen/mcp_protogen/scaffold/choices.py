"""The choices for a new project, and their defaults."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_protogen.pipeline.parts import PARTS
from mcp_protogen.scaffold.project_name import ProjectName


class ProjectKind(StrEnum):
    """The role of a project."""

    SERVER = "server"
    CLIENT = "client"
    GATEWAY = "gateway"


class ProjectTransport(StrEnum):
    """The way a project and its peers are connected."""

    STDIO = "stdio"
    HTTP = "http"
    BOTH = "both"

    @property
    def stdio(self) -> bool:
        """Return whether standard input and output are used."""
        return self is not ProjectTransport.HTTP

    @property
    def http(self) -> bool:
        """Return whether HTTP is used."""
        return self is not ProjectTransport.STDIO


class ProjectEngine(StrEnum):
    """The engine for the state that several workers of a server share."""

    REDIS = "redis"
    POSTGRES = "postgres"


ALL = "all"


@dataclass(frozen=True, slots=True)
class ProjectChoices:
    """The choices for one project.

    Its code is written for `revision`; it speaks all `revisions`, sorted.
    """

    name: ProjectName
    kind: ProjectKind
    transport: ProjectTransport
    revision: str
    revisions: tuple[str, ...]
    shared: ProjectEngine | None = None
    """The engine of a server over HTTP that has several workers."""
    extensions: tuple[str, ...] = ()
    """The extensions of its generated package, sorted."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that its program and tests need in the generated package, sorted.

        Tests of a server are clients, and the reverse. A gateway starts programs and calls URLs.
        """
        found = {"testing", "toolkit"}
        if self.transport.stdio:
            found.add("stdio")
        if self.transport.http:
            found |= {"http-client", "http-server"}
        if self.kind is ProjectKind.GATEWAY:
            found |= {"bridge", "http-client", "stdio"}
        if self.shared is not None:
            found.add(self.shared.value)
        # An extension that needs more than types has a part of the same name.
        found |= {*self.extensions} & PARTS.keys()
        return tuple(sorted(found))
