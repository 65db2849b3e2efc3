"""The answers to a typed question; see `questions`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ..core.json import JSONObject
from ..core.models.base import WireModel
from ..core.spec import AnyRequest

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Accepted(Generic[T_co]):
    """The user has sent the form; `value` is the answer."""

    value: T_co


@dataclass(frozen=True)
class Declined:
    """The user has declined to answer."""


@dataclass(frozen=True)
class Cancelled:
    """The user has closed the form without a decision."""


Answer: TypeAlias = Accepted[T_co] | Declined | Cancelled


class Form(ABC, Generic[T_co]):
    """A type that a user can be asked for, made by `form`."""

    @abstractmethod
    def schema_for(self, spec: AnyRequest, revision: str) -> JSONObject:
        """Return the form for a request; raise `LocalError` if the revision cannot show it."""

    @abstractmethod
    def read(self, result: WireModel) -> Answer[T_co]:
        """Return the user's answer: from an `ElicitResult`, or from a task's payload with one.

        Raise `InvalidParams` if it does not fit the form or the type.
        """
