"""The method table of versions of an extension with rules that translate between them.

A version of the class also stands for versions that it lacks. Their messages are validated first,
then read as those of the class; what is sent is translated last.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from ..core.errors import RequestId
from ..core.extension_versions import VersionedExtension
from ..core.extensions import Extension
from ..core.json import JSONObject, json_text
from ..core.losses import Loss, LossReport
from ..core.models.base import Validate, validator_of
from ..core.spec import AnyRequest, CallSpec, Part, RequestSpec
from ..messages.jsonrpc import write_result
from ..messages.method_table import MethodTable
from ..messages.versioned_table import VersionedTable, order
from ..messages.writing import wire_text
from .plans import Direction
from .report import Report
from .translator import Translator


class VersionStep(NamedTuple):
    """Another version of an extension, and the tables to it and back."""

    other: VersionedExtension
    outward: Direction
    inward: Direction


class _Link(NamedTuple):
    """A message of another version, and the translators to it and back, with its names there."""

    native: CallSpec[Any]
    outward: Translator
    inward: Translator
    name: str
    wire: str
    ends: tuple[str, str]


class TranslatedVersions(VersionedTable):
    """A method table with `extensions`, whose versions also stand for others.

    A server stands for earlier versions, a client for any that a server has.
    """

    def __init__(self, core: MethodTable, extensions: tuple[Extension, ...]) -> None:
        super().__init__(core, extensions)
        self._links: dict[CallSpec[Any], _Link] = {}
        self._losses: dict[tuple[str, str], LossReport] = {}
        """The reports by the own and the other version."""
        self.candidates = {family: [*versions] for family, versions in self.families.items()}
        for family, versions in self.candidates.items():
            for own in tuple(versions):
                for step in own.steps():
                    if step.other.version not in {version.version for version in versions}:
                        versions.append(version := self._stand_for(own, step))
                        if order(version) < order(own):
                            self.families[family].append(version)

    def _stand_for(self, own: VersionedExtension, step: VersionStep) -> VersionedExtension:
        """Return the other version with messages that are those of `own` here."""
        to, back, other = Translator(step.outward), Translator(step.inward), step.other
        ends = (step.outward.source, step.outward.destination)
        self._losses[ends] = LossReport(*ends)
        specs: dict[str, Any] = {**own.requests, **own.notifications}
        natives: dict[str, Any] = {**other.requests, **other.notifications}
        suffix = f"@{other.base}@{own.base}"
        here: dict[str, Any] = {}
        there: dict[str, Any] = {}
        for name, wire in to.methods().items():
            native = natives[wire + other.suffix]
            spec = _with_needs(specs[name + own.suffix], native)
            self._links[spec] = _Link(native, to, back, name, wire, ends)
            here[spec.method] = there[wire + suffix] = spec
            self._wire_names[wire + suffix] = wire
        # A server that lacks a later version does not declare it.
        is_older = order(other) < order(own)
        settings = {
            role: other.settings[role] for role in other.settings if is_older or role == "client"
        }
        version = replace(
            other,
            requests=_requests(here),
            notifications=_others(here),
            settings=settings,
            suffix=suffix,
        )
        for link in (self._links[spec] for spec in here.values()):
            self._by_wire_name.setdefault(link.wire, []).append(version)
        # Names that the runtime knows stand for messages of the class, which come last.
        self.requests = {**_requests(there), **self.requests}
        self.notifications = {**_others(there), **self.notifications}
        # A client declares the last one, until it has agreed.
        self.extensions = (version, *self.extensions)
        return version

    def with_losses(self, on_loss: Callable[[Loss], object] | None) -> "TranslatedVersions":
        table = copy(self)
        table._losses = {ends: LossReport(*ends, on_loss) for ends in self._losses}
        # Readers know their report.
        table._known, table._readers = {"client": {}, "server": {}}, {}
        return table

    def own_name(self, method: str) -> str:
        name = super().own_name(method)
        spec: Any = self.requests.get(name) or self.notifications.get(name)
        return name if name == method or spec is None else str(spec.method)

    def agreed_form(self, spec: Any) -> Any:
        for version in filter(None, self.agreed.values()):
            found = {**version.requests, **version.notifications}.get(spec.method)
            if found in self._links:
                return found
        return spec

    def _translate(self, spec: CallSpec[Any], part: Part, value: Any, *, inward: bool) -> Any:
        link = self._links[spec]
        to, method = (link.inward, link.wire) if inward else (link.outward, link.name)
        run = to.message(method, part)
        if run is None:
            return value
        report = Report([], thorough=False)
        out = run(value, (None, part), report)
        self._losses[link.ends].take(spec.method, report.losses)
        return out

    def _params_reader(self, spec: CallSpec[Any]) -> Validate:
        if (link := self._links.get(spec)) is None:
            return super()._params_reader(spec)
        check, read = validator_of(link.native.params), validator_of(spec.params)

        def read_translated(value: Any) -> Any:
            check(value)
            return read(self._translate(spec, "params", value, inward=True))

        return read_translated

    def _result_reader(self, spec: AnyRequest) -> Validate:
        if (link := self._links.get(spec)) is None:
            return super()._result_reader(spec)
        native: Any = link.native
        check, read = super()._result_reader(native), validator_of(spec.results[0])

        def read_translated(value: Any) -> Any:
            # Rules of leniency may have completed it.
            completed: Any = check(value)
            wire = completed.to_wire()
            return read(self._translate(spec, "result", wire, inward=True))

        return read_translated

    def _name_text(self, specs: Mapping[str, Any], spec: CallSpec[Any]) -> bytes:
        if (link := self._links.get(spec)) is None:
            return super()._name_text(specs, spec)
        name = self._names[spec] = json_text(link.wire)
        return name

    def _params_text(self, spec: CallSpec[Any], params: Any, meta: bytes | None) -> bytes | None:
        if spec not in self._links or (params is None and not spec.params_required):
            return super()._params_text(spec, params, meta)
        wire: JSONObject = {} if params is None else params.to_wire()
        out = self._translate(spec, "params", wire, inward=False)
        return wire_text(spec, out, meta, "params", params)

    def serialise_result(
        self, spec: RequestSpec[Any, Any, Any], id: RequestId, result: Any, *, meta: Any = None
    ) -> bytes:
        if spec not in self._links or not isinstance(result, spec.results):
            return super().serialise_result(spec, id, result, meta=meta)
        model: Any = result
        out = self._translate(spec, "result", model.to_wire(), inward=False)
        return write_result(id, wire_text(spec, out, meta, "result", model))


def _with_needs(spec: CallSpec[Any], native: CallSpec[Any]) -> CallSpec[Any]:
    """Return a message with what is said of it in the version on the wire."""
    return replace(
        spec,
        requires=native.requires,
        traits=native.traits,
        phase=native.phase,
        params_required=native.params_required,
        headers=native.headers,
    )


def _requests(specs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: spec for name, spec in specs.items() if isinstance(spec, RequestSpec)}


def _others(specs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: spec for name, spec in specs.items() if not isinstance(spec, RequestSpec)}
