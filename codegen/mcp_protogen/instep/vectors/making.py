"""The vectors of a revision: a pure function of its schema and facts.

Every vector is checked with `jsonschema`. A valid one that the schema refuses is a fault of this
package and stops the run, unless it is a user's schema, for which values may not be found here. An
invalid one that the schema accepts is dropped: if alternatives overlap, a value that is wrong for
one may be right for another.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jsonschema.validators import validator_for

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical, digest
from mcp_protogen.base.jsonpointer import NothingThere
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.vectors.cases import Case
from mcp_protogen.instep.vectors.invalid_cases import wrong
from mcp_protogen.instep.vectors.places import Place, PlaceWalk
from mcp_protogen.instep.vectors.samples import NoSampleError, Samples
from mcp_protogen.instep.vectors.shapes import Shapes
from mcp_protogen.instep.vectors.subjects import Topic, topics
from mcp_protogen.instep.vectors.tolerance import Tolerance, whereabouts
from mcp_protogen.instep.vectors.valid_cases import right
from mcp_protogen.instep.vectors.vector import Subject, Vector, VectorSet
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extended_revision import ExtendedRevision, extend_revision
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.inputs import extensions, sources
from mcp_protogen.pipeline.inputs.sources import RevisionSource

Json = dict[str, Any]
_IN_SCHEMA = "/$defs/"


class VectorFault(Exception):
    """Raised if a vector is wrong; a fault of the code that makes it."""


def select_sources(options: GenerationOptions) -> tuple[tuple[str, str], ...]:
    """Return the revisions, or their extensions, that options name; each as a pair of names."""
    if not options.extensions:
        return tuple((revision, "") for revision in options.revisions)
    every = extensions.load_all(options)
    return tuple(
        (revision, extension.name)
        for revision in options.revisions
        for extension in every
        if revision in extension.revisions
    )


def make(
    revision: str,
    options: GenerationOptions | None = None,
    extension: str = "",
    of_subject: Callable[[Subject], bool] | None = None,
) -> VectorSet:
    """Return the vectors of a revision, or those of an extension in it, of all subjects or of some.

    Raise `ProblemError` for an invalid schema, and for a schema without a known valid value.
    """
    options = options or GenerationOptions((revision,))
    source = sources.load(revision, options)
    of, documents = None, Json()
    if extension:
        given = options.extensions.get(extension)
        loaded = extensions.load(extension, schema_folder(), given)
        of, documents = extend_revision(loaded, source), loaded.facts.get("documents", {})
        source = of.source
    derived = of.derived if of else derive_revision(source)
    document = source.apply_patches()
    shapes = Shapes(_with_patterns(document, documents.values()))
    chosen = topics(document, derived.ir)
    if of:
        chosen = (topic for topic in chosen if _is_of(topic.subject, of))
    if of_subject:
        chosen = (topic for topic in chosen if of_subject(topic.subject))
    try:
        made = tuple(_vectors(document, shapes, source, derived, chosen))
    except NoSampleError as error:
        if revision not in options.schemas and not options.extensions.get(extension):
            raise VectorFault(f"{error.pointer}: {error.message}") from error
        hint = "vectors are made of the keywords that revisions use; see docs/vectors.md"
        problem = Problem("no-sample", error.message, source.place, error.pointer, hint)
        raise ProblemError(problem) from None
    return VectorSet(revision, digest(document), made, extension)


def _with_patterns(schema: Json, documents: Iterable[Json]) -> Json:
    """Return a schema with the patterns of texts in documents.

    Types do not check these, but a reader may, like formats.
    """
    changed: Json = copy.deepcopy(schema)
    for document in documents:
        for place, pattern in document.get("patterns", {}).items():
            inner: Json = {"$ref": f"#/$defs/{document['type']}"}
            for step in place.split("/"):
                if step:
                    inner = inner["items"] if step == "*" else inner["properties"][step]
                while "$ref" in inner:
                    inner = changed["$defs"][inner["$ref"].rpartition("/")[2]]
            inner["pattern"] = pattern
    return changed


def _is_of(subject: Subject, extension: ExtendedRevision) -> bool:
    """Return whether an extension brings a type, a message, or one more result of a method."""
    claimed = subject.kind == "result" and subject.method in extension.claimed
    return claimed or subject.method in extension.methods or subject.type in extension.types


def _vectors(
    document: Json,
    shapes: Shapes,
    source: RevisionSource,
    derived: DerivedRevision,
    chosen: Iterable[Topic],
) -> Iterator[Vector]:
    samples = Samples(shapes, source.facts.revision)
    making = _VectorMaker(
        samples,
        PlaceWalk(samples, source.facts.json_schemas),
        document,
        Tolerance(derived.facts, derived.ir, shapes),
    )
    known: set[str] = set()
    for topic in chosen:
        for vector in making.of(topic):
            if vector.id in known:
                raise VectorFault(f"two vectors are called {vector.id}")
            known.add(vector.id)
            yield vector


@dataclass(frozen=True, slots=True)
class _VectorMaker:
    samples: Samples
    walk: PlaceWalk
    document: Json
    tolerance: Tolerance

    def of(self, topic: Topic) -> Iterator[Vector]:
        """Yield the vectors of one subject, valid ones first and each value once."""
        accepts = _validity(self.document, topic)
        places = tuple(self.walk.places(topic.node))
        seen: set[bytes] = set()
        for place in places:
            for case in right(place, self.samples):
                vector = self._vector(topic, place, case, valid=True)
                if not accepts(vector.value):
                    raise _no_sample_error(vector, place)
                if _is_new(vector.value, seen):
                    yield vector
        for place in places:
            yield from self._wrong(topic, place, accepts, seen)

    def _wrong(
        self, topic: Topic, place: Place, accepts: Callable[[Any], bool], seen: set[bytes]
    ) -> Iterator[Vector]:
        for case in wrong(place, self.samples):
            if case.code == "pattern" and not self._states(case.rule):
                continue
            vector = self._vector(topic, place, case, valid=False)
            if not accepts(vector.value) and _is_new(vector.value, seen):
                yield vector

    def _states(self, rule: str) -> bool:
        """Return whether the schema itself has a keyword, as others come from facts."""
        with suppress(NothingThere):
            jsonpointer.get(self.document, rule)
            return True
        return False

    def _vector(self, topic: Topic, place: Place, case: Case, *, valid: bool) -> Vector:
        validity = "valid" if valid else "invalid"
        return Vector(
            id=f"{topic.subject}/{validity}{place.label}/{case.label}",
            subject=topic.subject,
            valid=valid,
            value=place.whole(case.value),
            code=case.code,
            reason=case.reason,
            pointer=whereabouts(place, case),
            rule=case.rule if case.rule.startswith(_IN_SCHEMA) else "",
            tolerated="" if valid else self.tolerance.of(place, case),
        )


def _no_sample_error(vector: Vector, place: Place) -> NoSampleError:
    parts = place.shape.parts or place.node.parts
    message = f"no value is known that the schema accepts as {vector.id}"
    return NoSampleError(message, parts[-1].pointer)


def _is_new(value: Any, seen: set[bytes]) -> bool:
    """Return whether a value is new, and remember it."""
    text = canonical(value)
    if text in seen:
        return False
    seen.add(text)
    return True


def _validity(document: Json, topic: Topic) -> Callable[[Any], bool]:
    """Return a function that says whether a value is valid for a topic.

    This uses `jsonschema`, which does not depend on the code that makes values. Formats are
    annotations, as the schemas intend.
    """
    dialect: Any = validator_for(document)
    is_valid: Callable[[Any], bool] = dialect({**document, **topic.schema}).is_valid
    return is_valid
