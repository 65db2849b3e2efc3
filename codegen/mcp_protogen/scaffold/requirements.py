"""What a new project depends on, in the form of pyproject.toml.

Ranges begin with what the runtime was tested with and end before the next major version.
"""

from collections.abc import Iterator

from mcp_protogen.scaffold.choices import Choices, Kind

PYDANTIC = "pydantic>=2.12,<3"
HTTPX = "httpx2>=2.16,<3"
UVICORN = "uvicorn>=0.54,<1"
# The example of a server tells the time; not every system has the tables of time zones.
_TZDATA = "tzdata"


def dependencies(choices: Choices) -> tuple[str, ...]:
    """What the project needs to run."""
    return tuple(sorted(_dependencies(choices)))


def development(choices: Choices) -> tuple[str, ...]:
    """What it needs besides to be tested and checked.

    Not what generates its package: installers look for all that a project names, also where no
    index has it.
    """
    return tuple(sorted(_development(choices)))


def _dependencies(choices: Choices) -> Iterator[str]:
    yield PYDANTIC
    if choices.kind is Kind.SERVER:
        yield _TZDATA
    if choices.transport.http:
        yield UVICORN if choices.kind is Kind.SERVER else HTTPX


def _development(choices: Choices) -> Iterator[str]:
    yield from ("pyright>=1.1.400", "pytest>=8.4", "pytest-asyncio>=1.2", "ruff>=0.14")
    if choices.transport.http:
        # Its tests talk to it over HTTP, or are talked to: the other side of what it needs itself.
        yield HTTPX if choices.kind is Kind.SERVER else UVICORN
