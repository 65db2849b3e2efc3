"""The dependencies of a new project, in the form of pyproject.toml.

Ranges begin with the versions that the runtime was tested with, and end before the next major
version.
"""

from collections.abc import Iterator

from mcp_protogen.scaffold.choices import ProjectChoices, ProjectEngine, ProjectKind

PYDANTIC = "pydantic>=2.12,<3"
HTTPX = "httpx2>=2.16,<3"
UVICORN = "uvicorn>=0.54,<1"
ENGINES = {ProjectEngine.POSTGRES: "psycopg[binary]>=3.3,<4", ProjectEngine.REDIS: "redis>=8.1,<9"}
# The example of a server tells the time; not every system has the tables of time zones.
_TZDATA = "tzdata"


def dependencies(choices: ProjectChoices) -> tuple[str, ...]:
    """Return the requirements to run the project."""
    return tuple(sorted(_dependencies(choices)))


def development(choices: ProjectChoices) -> tuple[str, ...]:
    """Return the further requirements for tests and checks.

    The generator is not among them: installers look for every requirement, even if no index has it.
    """
    return tuple(sorted(_development(choices)))


def _dependencies(choices: ProjectChoices) -> Iterator[str]:
    yield PYDANTIC
    if choices.kind is ProjectKind.SERVER:
        yield _TZDATA
    if choices.transport.http:
        yield HTTPX if choices.kind is ProjectKind.CLIENT else UVICORN
    if choices.kind is ProjectKind.GATEWAY:
        yield HTTPX
    if choices.shared is not None:
        yield ENGINES[choices.shared]


def _development(choices: ProjectChoices) -> Iterator[str]:
    yield from ("pyright>=1.1.400", "pytest>=8.4", "pytest-asyncio>=1.2", "ruff>=0.14")
    if choices.transport.http and choices.kind is not ProjectKind.GATEWAY:
        # Its tests are the other side of HTTP: a client for a server, a server for a client.
        yield HTTPX if choices.kind is ProjectKind.SERVER else UVICORN
