"""Documents that an extension publishes over HTTP, as data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from pydantic import ValidationError
from pydantic_core import SchemaValidator
from pydantic_core import core_schema as cs

from .errors import Problem, escape_step
from .json import is_array, is_object
from .models.base import WireModel
from .models.validation_errors import problems


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedDocument:
    """A document: its place, media type and header fields.

    `load` returns the type of its content, in which texts must match `patterns`, by their places.
    Without a type, `content` is a template.
    """

    place: str
    media_type: str
    headers: Mapping[str, str]
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])
    load: Callable[[], type[WireModel]] | None = None

    def beside(self, endpoint: str) -> str:
        """Return its URL, or its path, by that of an endpoint."""
        parts = urlsplit(endpoint)
        folder = parts._replace(path=f"{parts.path.rstrip('/')}/")
        return urljoin(folder.geturl(), self.place)

    def is_at(self, url: str) -> bool:
        """Return whether a URL has its usual place."""
        return urlsplit(url).path.endswith(f"/{self.place.lstrip('/')}")

    def problems(self, content: Any) -> list[Problem]:
        """Return why a JSON value cannot be its content."""
        found: list[Problem] = []
        if self.load is not None:
            try:
                self.load().from_wire(content)
            except ValidationError as error:
                found += problems(error, content)
        for place, pattern in self.patterns.items():
            matching = SchemaValidator(cs.str_schema(pattern=pattern)).isinstance_python
            for pointer, value in _texts_at(content, place.split("/")[1:]):
                if not matching(value):
                    found.append(Problem(pointer, f"{value!r:.80} must match {pattern}"))
        return found


def _texts_at(value: Any, steps: Sequence[str], pointer: str = "") -> Iterator[tuple[str, str]]:
    if not steps:
        if isinstance(value, str):
            yield pointer, value
        return
    members: list[tuple[str, Any]] = []
    if is_array(value) and steps[0] == "*":
        members = [(str(index), item) for index, item in enumerate(value)]
    elif is_object(value) and steps[0] in value:
        members = [(steps[0], value[steps[0]])]
    for step, member in members:
        yield from _texts_at(member, steps[1:], f"{pointer}/{escape_step(step)}")
