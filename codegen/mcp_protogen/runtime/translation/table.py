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
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ..core.errors import METHOD_NOT_FOUND, LocalError, RequestId, Untranslatable
from ..core.json import JSONObject, is_object
from ..core.losses import Loss, LossReport
from ..core.models.base import Validate, WireModel, validator_of
from ..core.spec import AnyRequest, CallSpec, Part, RequestSpec, Role
from ..messages.codec import SpecT
from ..messages.jsonrpc import write_result
from ..messages.method_table import EXTENSIONS, CodeAndData, MethodTable
from ..messages.results import forgiver
from ..messages.writing import body_text, check_numbers, is_exact, params_text, wire_text
from ..rules.wire_features import NOTHING, Untranslated
from .report import Place, Report
from .translator import Params, Run, Translator, translator

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
        ours = (asked, self.requests, known.notifications, self.notifications)
        self._names = {
            spec: self._there[spec.method]
            for specs in ours
            for spec in specs.values()
            if spec.method in self._there
        }
        self.own = own
        self._wire = wire
        self.extensions = wire.extensions
        self._untranslated = untranslated
        self._losses = losses
        self._presumed: Callable[[], Mapping[str, Any]] | None = None
        self._readers: dict[str, Validate] = {}
        self._writers: dict[tuple[str, type], Run | None] = {}

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "TranslatingTable":
        # There may be many such connections: they share everything else.
        table = copy(self)
        table._presumed = members
        table._known = {}
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
        is_request = isinstance(spec, RequestSpec)
        specs: Any = self._wire.requests if is_request else self._wire.notifications
        if specs.get(spec.method) is spec:
            return spec
        native: SpecT | None = specs.get(self._there.get(spec.method))
        return native

    def _run(self, translate: Run | None, value: T, name: str, part: str) -> T:
        if translate is None:
            return value
        report = Report([], thorough=False)
        out: T = translate(value, (None, part), report)
        if report.losses:
            unlost = self._untranslated.unlost
            members = ((loss, loss.pointer.rpartition("/")[2]) for loss in report.losses)
            self._losses.take(
                name, [loss for loss, member in members if (name, member) not in unlost]
            )
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

    def result_reader(self, spec: AnyRequest) -> Validate:
        native = self._native(spec)
        if native is None or spec is native:
            return self._wire.result_reader(spec)
        read = self._readers.get(spec.method)
        if read is None:
            read = self._readers[spec.method] = self._result_reader(spec, native)
        return read

    def _result_reader(self, spec: AnyRequest, native: AnyRequest) -> Validate:
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
        translate = self._inward.message(self.wire_name(spec.method), "result")
        return super().read_response(spec, self._run(translate, value, spec.method, "result"))

    # Writing. Messages that the wire's revision cannot express raise `Untranslatable`.

    def _params_text(
        self, specs: Mapping[str, SpecT], spec: SpecT, params: Any, meta: bytes | None
    ) -> bytes | None:
        native = self._native(spec)
        if spec is native:
            return params_text(spec, params, meta)
        if native is None:
            # The extension's method of this name is something else.
            raise self._no_method_error(f"{spec.method} of {self.own.revision}")
        wire_spec = specs[spec.method]
        translate = self._outward.message(spec.method, "params")
        if translate is None:
            return params_text(wire_spec, params, meta)
        if params is None and not wire_spec.params_required and meta is None:
            return None
        wire: JSONObject = {} if params is None else params.to_wire()
        kept = self._untranslated.kept.get(spec.method)
        if kept is not None:
            translate = _keeping(translate, kept)
        out = self._run(translate, wire, spec.method, "params")
        text = wire_text(spec.method, out, meta, exact=is_exact(spec))
        check_numbers(spec.method, text, params)
        return text

    def serialise_result(
        self, spec: RequestSpec[Any, Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        key = (spec.method, type(result))
        if key not in self._writers:
            self._writers[key] = self._result_writer(spec, type(result))
        translate = self._writers[key]
        model: Any = result
        if translate is None:
            return write_result(id, body_text(spec.method, model, meta))
        out = self._run(translate, model.to_wire(), spec.method, "result")
        text = wire_text(spec.method, out, meta)
        check_numbers(spec.method, text, model)
        return write_result(id, text)

    def _result_writer(self, spec: AnyRequest, cls: type) -> Run | None:
        """Return the translation of results of a class; None if the wire has it too.

        Raise `LocalError` for a class outside the method's results.
        """
        native = self._native(spec) or spec
        if issubclass(cls, (*native.results, *self.claims(spec.method))):
            return None
        plain, *others = spec.results
        kinds = (plain, *others) if cls is plain else (*others, plain)
        kind = next((result_class for result_class in kinds if issubclass(cls, result_class)), None)
        with suppress(LookupError):
            if kind is plain:
                return self._result_translation(spec.method)
            if kind is not None:
                return self._outward.of_type(kind.__name__)
        raise LocalError(f"{cls.__name__} is not a result of {spec.method}")

    def _result_translation(self, method: str) -> Run | None:
        """Return the translation of plain results, including additions of the runtime."""
        translate, complete = (
            self._outward.message(method, "result"),
            self._untranslated.written.get(method),
        )
        if complete is None:
            return translate

        def translate_complete(value: Any, at: Place, report: Report) -> Any:
            out = value if translate is None else translate(value, at, report)
            return complete(out)

        return translate_complete

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
        run = self._outward.of_type(name)
        if name in _CAPABILITIES and self.extensions:
            return self._translate_capabilities(run, name, value)
        return self._run(run, value, name, name)

    def _translate_capabilities(self, run: Run | None, name: str, value: JSONObject) -> JSONObject:
        # The wire's extensions are used here, so their declarations must be kept.
        plain, kept = _split_extensions(
            value, {extension.identifier for extension in self.extensions}
        )
        out = self._run(run, plain, name, name)
        return {**out, EXTENSIONS: {**out.get(EXTENSIONS, {}), **kept}} if kept else out

    def inward(self, name: str, value: JSONObject) -> JSONObject:
        run = self._inward.of_type(name)
        if name in _CAPABILITIES and self.extensions:
            return self._translate_capabilities(run, name, value)
        members = self._untranslated.kept.get(name)
        if members is not None and run is not None:
            run = _keeping(run, members)
        return self._run(run, value, name, name)

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
            return to.error(method, (code, {}), dict, report)
        self._losses.take(method, report.losses)
        return there, data if new is value else new


def _as_json(value: Any) -> Any:
    return value.to_wire() if isinstance(value, WireModel) else {} if value is None else value


def _keeping(translate: Run, members: frozenset[str]) -> Run:
    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        kept = {member: item for member, item in value.items() if member in members}
        others = {member: item for member, item in value.items() if member not in members}
        return {**translate(others, at, report), **kept}

    return run


def _split_extensions(value: JSONObject, known: Collection[str]) -> tuple[JSONObject, JSONObject]:
    """Split capabilities into those without the `known` extensions, and these."""
    raw: object = value.get(EXTENSIONS)
    declared: JSONObject = raw if is_object(raw) else {}
    others = {id: settings for id, settings in declared.items() if id not in known}
    plain = {name: item for name, item in value.items() if name != EXTENSIONS}
    kept = {id: settings for id, settings in declared.items() if id in known}
    return {**plain, EXTENSIONS: others} if others else plain, kept


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
