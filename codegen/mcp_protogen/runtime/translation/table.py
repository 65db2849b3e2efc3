"""A method table for users of one revision over a wire of another.

An incoming message is validated against the revision on the wire first, so that errors describe the
peer's own text. An outgoing message is translated last. Types that are the same in both revisions
are not translated.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from types import ModuleType
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import to_json

from ..core.errors import METHOD_NOT_FOUND, LocalError, RequestId, Untranslatable
from ..core.json import JSONObject, is_object
from ..core.losses import Loss, LossReport
from ..core.models.base import Validate, WireModel, validator_of
from ..core.spec import AnyRequest, CallSpec, Part, RequestSpec, Role
from ..messages.codec import SpecT
from ..messages.jsonrpc import write_result
from ..messages.method_table import EXTENSIONS, CodeAndData, MethodTable
from ..messages.results import forgiver
from ..messages.writing import body_text, wire_text
from ..rules.wire_features import NOTHING, Untranslated
from .report import Place, Report
from .translator import Params, Run, Translator, chain, translator

R = TypeVar("R")
T = TypeVar("T")

# The runtime negotiates in the revision of the wire.
_LIFECYCLE = frozenset({"initialize", "notifications/initialized"})

_CAPABILITIES: Final = ("ClientCapabilities", "ServerCapabilities")


class TranslatingTable(MethodTable):
    """The method table of `own`, over a wire in the revision of `wire`.

    Extensions of either are not translated: a method of the wire's extensions keeps its types, even
    if `own` has one of the same name. Losses go to `losses`. Raises `LookupError` if `package` has
    no translations between the two.
    """

    client_uri: Callable[[str], str] = str

    def __init__(
        self,
        own: MethodTable,
        wire: MethodTable,
        package: ModuleType,
        losses: LossReport,
        untranslated: Untranslated = NOTHING,
    ) -> None:
        known = own.core
        self._inward = translator(package, wire.revision, own.revision)
        self._outward = translator(package, own.revision, wire.revision)
        self._here, self._there = self._inward.methods(), self._outward.methods()
        asked = {**known.input_requests, **known.requests}
        super().__init__(
            wire.revision,
            requests=self._read_as(asked, wire.requests),
            notifications=self._read_as(known.notifications, wire.notifications),
            errors=wire.errors,
            input_requests=wire.input_requests,
            rules=wire.rules,
        )
        self.own = own
        self._wire = wire
        self.extensions = wire.extensions
        parts = cast(tuple[Mapping[str, Any], ...], untranslated)
        named = ({own.name_of(name): part[name] for name in part} for part in parts)
        self._untranslated = Untranslated(*named)
        self._losses = losses
        self._presumed: Callable[[], Mapping[str, Any]] | None = None
        self._writers: dict[tuple[str, type], Run | None] = {}

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "TranslatingTable":
        # There may be many such connections: they share everything else.
        table = copy(self)
        table._presumed = members
        table._known = {"client": {}, "server": {}}
        return table

    @property
    def wire(self) -> MethodTable:
        return self._wire

    def _read_as(
        self, known: Mapping[str, SpecT], native: Mapping[str, SpecT]
    ) -> Mapping[str, SpecT]:
        """Return messages of the wire by their names in `own`, with its types if it has them."""
        specs = (
            _with_rules(spec, known.get(self._here.get(name, "")))
            for name, spec in native.items()
            if self.own_name(name)
        )
        return {spec.method: spec for spec in specs}

    def own_name(self, method: str) -> str:
        # `own` may have another method of this name.
        return self._here.get(method, "" if method in self._there else method)

    def wire_name(self, method: str) -> str:
        return self._there.get(method, method)

    def _native(self, spec: SpecT) -> SpecT | None:
        """Return the wire's form of a message of either revision; None if it lacks it."""
        wire, is_request = self._wire, isinstance(spec, RequestSpec)
        specs: Any = wire.requests if is_request else wire.notifications
        native: SpecT | None = specs.get(spec.method)
        return native if native is spec else specs.get(self._there.get(spec.method))

    def _run(self, translate: Run | None, value: T, name: str, part: str) -> T:
        if translate is None:
            return value
        report = Report([], False, self.client_uri)
        out: T = translate(value, (None, part), report)
        if report.losses:
            unlost = self._untranslated.unlost.get(name)
            lost = [loss for loss in report.losses if loss.pointer.rpartition("/")[2] != unlost]
            self._losses.take(name, lost)
        return out

    def _params_reader(self, spec: CallSpec[Any]) -> Validate:
        method, native, read = spec.method, self._native(spec), validator_of(spec.params)
        if native is None or spec is native:
            return read
        translate = self._inward.message(native.method, "params")
        presumed = self._presumed if isinstance(spec, RequestSpec) else None
        if translate is None and presumed is None:
            return read
        check = validator_of(native.params)

        def read_translated(value: Any) -> Any:
            check(value)
            out = self._run(translate, value, method, "params")
            if presumed is not None:
                out = {**out, "_meta": {**out.get("_meta", {}), **presumed()}}
            return read(out)

        return read_translated

    def _result_reader(self, spec: AnyRequest) -> Validate:
        native = self._native(spec)
        if native is None or spec is native:
            return self._wire.result_reader(spec)
        method, check = spec.method, self._wire.result_reader(native)
        read = validator_of(spec.results[0])
        translate = self._inward.message(native.method, "result")
        if translate is None and check is validator_of(native.results[0]):
            return read
        forgive, claims = forgiver(native, self._wire.rules), self.claims(method)
        show = self._untranslated.read.get(method)
        kinds = {result: self._kind(spec, result) for result in native.results[1:]}

        def read_translated(value: Any) -> Any:
            checked: object = check(value)
            kind = kinds.get(type(checked))
            if kind is not None:
                run, as_ours = kind
                return as_ours(self._run(run, value, method, "result"))
            if type(checked) in kinds or isinstance(checked, claims):
                return checked  # a kind of result that `own` lacks: an input request, or a task
            if show is not None:
                show(value)
            kept = value if forgive is None else forgive(value)
            return read(self._run(translate, kept, method, "result"))

        return read_translated

    def _kind(self, spec: AnyRequest, native: type[Any]) -> tuple[Run | None, Validate] | None:
        """Return how to read a result other than the plain one; None if `own` lacks it."""
        ours = {result.__name__: result for result in spec.results[1:]}
        with suppress(LookupError):
            kind = ours[self._inward.becomes(native.__name__)]
            return self._inward.of_type(native.__name__), validator_of(kind)
        return None

    def read_response(self, spec: RequestSpec[Any, Any, R], value: Any) -> R:
        return super().read_response(spec, self.carry_in(spec.method, "result", value))

    # Writing. Messages that the wire's revision cannot express raise `Untranslatable`.

    def _name_text(self, specs: Mapping[str, Any], spec: CallSpec[Any]) -> bytes:
        native = self._native(spec)
        if native is None:
            # An extension may have another method of this name.
            raise self._no_method_error(f"{spec.method} of {self.own.revision}")
        name = self._names[spec] = to_json(native.method)
        return name

    def _params_text(self, spec: CallSpec[Any], params: Any, meta: bytes | None) -> bytes | None:
        if spec is self._native(spec):
            return super()._params_text(spec, params, meta)
        is_request = isinstance(spec, RequestSpec)
        specs: Mapping[str, Any] = self.requests if is_request else self.notifications
        wire_spec: CallSpec[Any] = specs[spec.method]
        translate = self._outward.message(spec.method, "params")
        if translate is None:
            return super()._params_text(wire_spec, params, meta)
        if params is None and not wire_spec.params_required and meta is None:
            return None
        wire: JSONObject = {} if params is None else params.to_wire()
        translate = _keeping(translate, self._untranslated.kept.get(spec.method))
        out = self._run(translate, wire, spec.method, "params")
        return wire_text(spec, out, meta, "params", params)

    def serialise_result(
        self, spec: RequestSpec[Any, Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        key = (spec.method, type(result))
        if key not in self._writers:
            self._writers[key] = self._result_writer(spec, type(result))
        translate = self._writers[key]
        model: Any = result
        if translate is None:
            return write_result(id, body_text(spec, model, meta))
        out = self._run(translate, model.to_wire(), spec.method, "result")
        return write_result(id, wire_text(spec, out, meta, "result", model))

    def _result_writer(self, spec: AnyRequest, cls: type) -> Run | None:
        """Return the translation of results of a class; None if the wire has it too.

        Raise `LocalError` for a class outside the method's results.
        """
        native = self._native(spec) or spec
        if issubclass(cls, (*native.results, *self.claims(spec.method))):
            return None
        plain, *others = spec.results
        kinds = spec.results if cls is plain else (*others, plain)
        kind = next((result_class for result_class in kinds if issubclass(cls, result_class)), None)
        with suppress(LookupError):
            if kind is plain:
                translate = self._outward.message(spec.method, "result")
                complete = self._untranslated.written.get(spec.method)
                if complete is None:
                    return translate
                return chain(translate, lambda value, at, report: complete(value))
            if kind is not None:
                return self._outward.of_type(kind.__name__)
        raise LocalError(f"{cls.__name__} is not a result of {spec.method}")

    def write_question(self, spec: AnyRequest, params: Any) -> JSONObject:
        name, wire = self._there.get(spec.method, ""), self._wire
        native = wire.input_requests.get(name) or wire.requests.get(name)
        if native is None or "server" not in native.senders:
            raise self._no_method_error(spec.method)
        question: JSONObject = {**super().write_question(spec, params), "method": name}
        if "params" in question:
            question["params"] = self.carry_out(spec.method, "params", question["params"])
        return question

    def carry_in(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        return self._run(self._inward.message(self.wire_name(method), part), value, method, part)

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        translate = self._outward.message(method, part) if method in self._there else None
        return self._run(translate, value, method, part)

    def outward(self, name: str, value: JSONObject) -> JSONObject:
        return self._translate(self._outward.of_type(name), name, value)

    def inward(self, name: str, value: JSONObject) -> JSONObject:
        run = _keeping(self._inward.of_type(name), self._untranslated.kept.get(name))
        return self._translate(run, name, value)

    def _translate(self, run: Run | None, name: str, value: JSONObject) -> JSONObject:
        if name not in _CAPABILITIES or not self.extensions:
            return self._run(run, value, name, name)
        # The wire's extensions are used here, so their declarations must be kept.
        declared = value.get(EXTENSIONS)
        known = {extension.identifier for extension in self.extensions}
        others, kept = _split(declared if is_object(declared) else {}, known)
        plain, _ = _split(value, {EXTENSIONS})
        out = self._run(run, {**plain, EXTENSIONS: others} if others else plain, name, name)
        return {**out, EXTENSIONS: {**out.get(EXTENSIONS, {}), **kept}} if kept else out

    def admit(self, spec: CallSpec[Any], sender: Role) -> None:
        native = self._native(spec)
        if native is None or sender not in native.senders:
            raise self._no_method_error(spec.method)

    def _no_method_error(self, method: str) -> Untranslatable:
        return Untranslatable("", f"{self.revision} has no {method}", code=METHOD_NOT_FOUND)

    def lost(self, method: str, error: LocalError) -> None:
        self._losses.take(method, [Loss("", "refused", error.message)])

    def error_to_send(self, method: str, error: CodeAndData, params: Any = None) -> CodeAndData:
        return self._error(self._outward, self.own, method, error, lambda: _as_json(params))

    def error_that_came(self, method: str, error: CodeAndData, params: Any = None) -> CodeAndData:
        def read_params() -> JSONObject:
            return self.carry_out(method, "params", _as_json(params))

        return self._error(self._inward, self._wire, self.wire_name(method), error, read_params)

    def _error(
        self, to: Translator, source: MethodTable, method: str, error: CodeAndData, params: Params
    ) -> CodeAndData:
        code, data = error
        spec, value, report = source.errors.get(code), _as_json(data), Report([], thorough=False)
        try:
            if data is not None and spec is not None and spec.load is not None:
                validator_of(spec.load())(value)
            there, new = to.error(method, (code, value), params, report)
        except ValidationError:
            # No plan is for data that break the source's own type.
            return to.error(method, (code, {}), params, report)[0], data
        except Untranslatable as refusal:
            self.lost(method, refusal)
            return to.error(method, (code, {}), None, report)
        self._losses.take(method, report.losses)
        return there, data if new is value else new


def _as_json(value: Any) -> Any:
    return value.to_wire() if isinstance(value, WireModel) else {} if value is None else value


def _keeping(translate: Run | None, members: frozenset[str] | None) -> Run | None:
    if translate is None or members is None:
        return translate

    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        others, kept = _split(value, members)
        return {**translate(others, at, report), **kept}

    return run


def _split(value: JSONObject, members: Collection[str]) -> tuple[JSONObject, JSONObject]:
    """Return the other members of an object, and these."""
    kept = {member: item for member, item in value.items() if member in members}
    return {member: item for member, item in value.items() if member not in kept}, kept


def _with_rules(native: SpecT, spec: SpecT | None) -> SpecT:
    """Return `spec` with the rules of `native`, or `native` if `own` has no types for it."""
    if spec is None or native.method in _LIFECYCLE:
        return native
    return replace(
        spec,
        senders=native.senders,
        traits=native.traits,
        phase=native.phase,
        params_required=native.params_required,
    )
