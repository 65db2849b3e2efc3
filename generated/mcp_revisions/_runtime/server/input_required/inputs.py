"""Questions that a server puts into a result, and the answers that come with the next round.

The server remembers nothing between rounds: the client keeps what was asked, sealed, with the state
of the handler, so that answers can be checked against their questions
(2026-07-28, basic/patterns/mrtr).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ...core import forms
from ...core.connection_errors import MissingClientCapability
from ...core.errors import InvalidParams, LocalError
from ...core.json import JSONObject, is_object
from ...core.models.base import WireModel, validator_of
from ...core.models.validation_errors import Problem, escaped, problems
from ...core.spec import Capability, RequestSpec
from ...rules import capabilities
from .sealed_state import Bearer, StateSeal, refused

R = TypeVar("R", bound=WireModel)

Specs: TypeAlias = Mapping[str, RequestSpec[Any, Any]]
"""What may be asked inside a result, by method."""

_AT: Final = "/params/inputResponses"


@dataclass(frozen=True, slots=True)
class Asking:
    """The server that asks, the request it asks for, and what the client has declared."""

    seal: StateSeal
    bearer: Bearer
    specs: Specs
    declared: Mapping[str, Any]


class Inputs:
    """The answers that came in this round, to what was asked in the round before."""

    __slots__ = ("_answers", "_asked", "state")

    def __init__(self, state: Any, asked: Mapping[str, type], answers: Mapping[str, Any]) -> None:
        self.state: Final = state
        """The JSON value that the handler put aside when it asked."""
        self._asked = asked
        self._answers = answers

    @property
    def given(self) -> Mapping[str, WireModel]:
        """The answers there are, by key."""
        return self._answers

    @property
    def missing(self) -> frozenset[str]:
        """The keys of questions that came back without an answer; they may be asked again."""
        return frozenset(self._asked).difference(self._answers)

    def response(self, key: str, kind: type[R]) -> R | None:
        """Return the answer to the question asked under `key`, or None if there is none.

        Raises `LocalError` if no such question was asked, or answers to it are not of `kind`.
        """
        asked = self._asked.get(key)
        if asked is None:
            raise LocalError(f"nothing was asked under {key!r}")
        if not issubclass(asked, kind):
            raise LocalError(f"what was asked under {key!r} is answered by {asked.__name__}")
        answer: R | None = self._answers.get(key)
        return answer


def ask(
    questions: Mapping[str, JSONObject], state: Any, asking: Asking, memo: JSONObject | None = None
) -> str:
    """Return the sealed state to send with `questions`, which are requests as JSON objects.

    `memo` is what the runtime itself has to know in the next round, and whether `state` is the
    handler's. Raises `MissingClientCapability` for what the client does not do, and `LocalError` if
    there is neither a question nor a state, or the state has no JSON form.
    """
    if not questions and state is None:
        raise LocalError("a result that asks for input has questions or a state")
    missing = [need for one in questions.values() for need in _unmet(one, asking)]
    if missing:
        required = capabilities.declare(missing)
        raise MissingClientCapability("The client lacks what this request needs", required)
    noted = {key: _noted(question) for key, question in questions.items()}
    try:
        return asking.seal.seal({"asked": noted, "state": state, "memo": memo}, asking.bearer)
    except PydanticSerializationError as error:
        raise LocalError(f"the state of a request cannot be written: {error}") from error


def _unmet(question: JSONObject, asking: Asking) -> list[Capability]:
    method = question["method"]
    spec = asking.specs.get(method)
    if spec is None:
        raise LocalError(f"{method} cannot be asked inside a result")
    declared: Mapping[Any, Any] = {"client": asking.declared}
    need = capabilities.unmet(spec.requires, "server", question.get("params"), declared)
    return [] if need is None else [need.capability]


def _noted(question: JSONObject) -> JSONObject:
    noted: JSONObject = {"method": question["method"], "params": {}}
    schema = question.get("params", {}).get(forms.FORM)
    if schema is not None:
        noted["params"][forms.FORM] = schema
    return noted


class Round(NamedTuple):
    """The answers that came with a request made again, and what the runtime had noted."""

    inputs: Inputs
    memo: JSONObject | None


def read(raw: Mapping[str, Any], asking: Asking) -> Round | None:
    """Return the answers that came with params; None if they carry no state, as at first.

    A server that asks always sends a state, so answers without one are answers to nothing, and are
    not looked at. Raises `InvalidParams` for a state that is not good for this request, and for
    answers that are none to what was asked; unexpected ones are passed over ("Error Handling").
    """
    state = raw.get("requestState")
    if state is None:
        return None
    sealed = asking.seal.open(state, asking.bearer)
    if not is_object(sealed):
        raise refused()
    given: JSONObject = raw.get("inputResponses", {})
    asked: dict[str, type[WireModel]] = {}
    answers: dict[str, Any] = {}
    faults: list[Problem] = []
    for key, noted in sealed["asked"].items():
        kind = asked[key] = asking.specs[noted["method"]].results[0]
        if key in given:
            answers[key] = _answer(given[key], kind, noted, f"{_AT}/{escaped(key)}", faults)
    if faults:
        raise InvalidParams("Invalid answers", faults)
    return Round(Inputs(sealed["state"], asked, answers), sealed["memo"])


def _answer(
    value: Any, kind: type[WireModel], noted: JSONObject, at: str, faults: list[Problem]
) -> WireModel | None:
    try:
        answer: WireModel = validator_of(kind)(value)
    except ValidationError as error:
        faults += problems(error, value, at)
        return None
    if noted["method"] != forms.ELICIT:
        return answer
    asked = noted["params"]
    kept = forms.as_asked(value, asked, asked)
    faults += forms.faults_of(kept, asked, at)
    return kind.from_wire(kept)
