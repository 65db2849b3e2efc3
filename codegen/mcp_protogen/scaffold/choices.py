"""What a new project can be, and what it is when nobody says otherwise."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_protogen.scaffold.project_name import ProjectName


class Kind(StrEnum):
    """What a project is to its peers."""

    SERVER = "server"
    CLIENT = "client"
    GATEWAY = "gateway"


class Transport(StrEnum):
    """How a project reaches its peers, or is reached by them."""

    STDIO = "stdio"
    HTTP = "http"
    BOTH = "both"

    @property
    def stdio(self) -> bool:
        """Whether standard input and output are used."""
        return self is not Transport.HTTP

    @property
    def http(self) -> bool:
        """Whether HTTP is used."""
        return self is not Transport.STDIO


ALL = "all"


@dataclass(frozen=True, slots=True)
class Choices:
    """One project, decided on.

    `revision` is the one its code is written in, `revisions` are all that it speaks, sorted.
    """

    name: ProjectName
    kind: Kind
    transport: Transport
    revision: str
    revisions: tuple[str, ...]
