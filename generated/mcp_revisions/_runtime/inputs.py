"""Questions that a server puts into a result, and the answers that come with the next round.

The server remembers nothing between rounds: what was asked travels, sealed, with the state of the
handler, so that answers can be held against the questions they answer
(2026-07-28, basic/patterns/mrtr).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from . import elicitation, gate
from .errors import InvalidParams, LocalError, MissingClientCapability
from .jsonvalue import JSONObject, is_object
from .model import WireModel, validator_of
from .pointers import Problem, escaped, problems
from .request_state import Bearer, StateSeal, refused
from .spec import Capability, RequestSpec

R = TypeVar("R", bound=WireModel)

Specs: TypeAlias = Mapping[str, RequestSpec[Any, Any]]
"""What may be asked inside a result, by method."""

_AT: Final = "/params/inputResponses"


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, on behalf of which request, and what the client it asks has declared."""

    seal: StateSeal
    bearer: Bearer
    specs: Specs
    declared: Mapping[str, Any]


class Inputs:
    """What a client answered in this round, to what was asked in the round before."""

    __slots__ = ("_answers", "_asked", "state")

    def __init__(self, state: Any, asked: Mapping[str, type], answers: Mapping[str, Any]) -> None:
        self.state: Final = state
        """The JSON value that the handler put aside when it asked."""
        self._asked = asked
        self._answers = answers

    @property
    def missing(self) -> frozenset[str]:
        """The keys of questions that came back without an answer; they may be asked again."""
        return frozenset(self._asked).difference(self._answers)

    def response(self, key: str, kind: type[R]) -> R | None:
        """The answer to the question asked under `key`, or None if there is none.

        Raises `LocalError` if no such question was asked, or answers to it are not of `kind`.
        """
        asked = self._asked.get(key)
        if asked is None:
            raise LocalError(f"nothing was asked under {key!r}")
        if not issubclass(asked, kind):
            raise LocalError(f"what was asked under {key!r} is answered by {asked.__name__}")
        answer: R | None = self._answers.get(key)
        return answer


def ask(questions: Mapping[str, Any], state: Any, asking: Asking) -> str:
    """The sealed state to send along with `questions`, which are models of embedded requests.

    Raises `MissingClientCapability` for what the client does not do, and `LocalError` if there is
    neither a question nor a state, or the state has no JSON form.
    """
    if not questions and state is None:
        raise LocalError("a result that asks for input has questions or a state")
    missing = [need for one in questions.values() for need in _unmet(one, asking)]
    if missing:
        required = gate.declare(missing)
        raise MissingClientCapability("The client lacks what this request needs", required)
    try:
        noted = {key: _noted(question) for key, question in questions.items()}
        return asking.seal.seal({"asked": noted, "state": state}, asking.bearer)
    except PydanticSerializationError as error:
        raise LocalError(f"the state of a request cannot be written: {error}") from error


def _unmet(question: Any, asking: Asking) -> list[Capability]:
    spec = asking.specs.get(question.method)
    if spec is None:
        raise LocalError(f"{question.method} cannot be asked inside a result")
    need = gate.unmet(spec.requires, "server", question.params, {"client": asking.declared})
    return [] if need is None else [need.capability]


def _noted(question: Any) -> JSONObject:
    """What has to be known of a question to judge the answer to it."""
    noted: JSONObject = {"method": question.method}
    schema = getattr(question.params, "requested_schema", None)
    if schema is not None:
        noted["schema"] = schema.to_wire()
    return noted


def read(params: Any, asking: Asking) -> Inputs | None:
    """The answers that came with a request; None if it carries no state, as in the first round.

    A server that asks always sends a state, so answers without one are answers to nothing, and are
    not looked at. Raises `InvalidParams` for a state that is not good for this request, and for
    answers that are none to what was asked; unexpected ones are passed over ("Error Handling").
    """
    if params.request_state is None:
        return None
    sealed = asking.seal.open(params.request_state, asking.bearer)
    if not is_object(sealed):
        raise refused()
    given: JSONObject = params.to_wire().get("inputResponses", {})
    asked: dict[str, type] = {}
    answers: dict[str, Any] = {}
    faults: list[Problem] = []
    for key, noted in sealed["asked"].items():
        kind = asked[key] = asking.specs[noted["method"]].results[0]
        if key in given:
            answers[key] = _answer(given[key], kind, noted, f"{_AT}/{escaped(key)}", faults)
    if faults:
        raise InvalidParams("Invalid answers", faults)
    return Inputs(sealed["state"], asked, answers)


def _answer(
    value: Any, kind: type, noted: JSONObject, at: str, faults: list[Problem]
) -> WireModel | None:
    try:
        answer: WireModel = validator_of(kind)(value)
    except ValidationError as error:
        faults += problems(error, value, at)
        return None
    if "schema" in noted and value.get("action") == "accept":
        content = value.get("content", {})
        faults += elicitation.problems_of(content, noted["schema"], f"{at}/content")
    return answer
