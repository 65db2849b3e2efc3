"""The messages printed in the specification's pages are read, or refused, as their index says."""

import json
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.names import type_name
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_revisions import MethodNotFound, RemoteError
from pydantic import ValidationError
from support import tables
from support.generated.differential import same
from support.generated.golden_package import load, shared_json
from support.generated.spec_examples import SHOWN, Json, all_examples, examples


def _type(revision: str, definition: str) -> Any:
    return getattr(load(revision).models, type_name(definition))


def _read(kind: Any, value: Any) -> Any:
    return validator_of(kind)(value)


def _encode(message: Json) -> bytes:
    return json.dumps(message).encode()


@pytest.mark.shows("S2-29", "S2-31")
def test_sound_examples_fit_every_definition_they_are_printed_for() -> None:
    for example in examples("request", "notification", "response", "error"):
        with tables.case(example.name):
            for definition, value in example.parts():
                typed = _read(_type(example.revision, definition), value)
                assert same(typed.to_wire(), value, exact=True), definition
                assert same(json.loads(typed.to_json()), value, exact=True), definition


def test_a_definition_refuses_what_the_page_left_out() -> None:
    for example in examples("request", "request-missing-id") + examples(
        "request-missing-id", sound=False
    ):
        with tables.case(example.name):
            for check in example.entry["checks"]:
                kind = _type(example.revision, check["definition"])
                value = jsonpointer.get(example.message(), check["at"] and f"/{check['at']}")
                if check["errors"]:
                    with pytest.raises(ValidationError):
                        _read(kind, value)
                else:
                    assert same(_read(kind, value).to_wire(), value, exact=True)


@pytest.mark.shows("S2-08")
def test_requests_are_read_by_method_and_sender() -> None:
    for example in examples("request"):
        with tables.case(example.name):
            methods, message = load(example.revision).methods, example.whole()
            if message["method"] == "some_method":  # the progress page shows any request at all
                with pytest.raises(MethodNotFound, match="some_method"):
                    methods.parse_request(_encode(message), sender="client")
                continue
            spec = methods.REQUESTS[message["method"]]
            for sender in spec.senders:
                found = methods.parse_request(_encode(message), sender=sender)
                assert (found.id, found.spec) == (message["id"], spec)
                assert same(found.params.to_wire(), message.get("params", {}), exact=True)
                written = methods.serialise_request(spec, found.id, found.params)
                assert same(
                    _without_empty_params(written),
                    _without_empty_params(_encode(message)),
                    exact=True,
                )


def test_notifications_are_read_by_method_and_sender() -> None:
    for example in examples("notification"):
        with tables.case(example.name):
            methods, message = load(example.revision).methods, example.whole()
            spec = methods.NOTIFICATIONS[message["method"]]
            for sender in spec.senders:
                found = methods.parse_notification(_encode(message), sender=sender)
                assert found.spec is spec
                written = methods.serialise_notification(spec, found.params)
                assert same(
                    _without_empty_params(written),
                    _without_empty_params(_encode(message)),
                    exact=True,
                )


@pytest.mark.shows("S2-09")
def test_results_are_read_by_the_request_they_answer() -> None:
    for example in examples("response"):
        with tables.case(example.name):
            package, message = load(example.revision), example.whole()
            spec = _find_request(package.methods, example.entry)
            found = package.methods.parse_answer(_encode(message), spec=spec)
            expected = _type(example.revision, example.entry["definition"])
            assert type(found.value) is expected
            assert found.id == message["id"]
            written = package.methods.serialise_result(spec, found.id, found.value)
            assert same(json.loads(written), message, exact=True)


def test_errors_are_read_as_answers() -> None:
    for example in examples("error"):
        with tables.case(example.name):
            methods, message = load(example.revision).methods, example.whole()
            found = methods.parse_answer(
                _encode(message), spec=_find_request(methods, example.entry)
            )
            error = message["error"]
            assert (found.id, found.code, found.message) == (
                message.get("id"),
                error["code"],
                error["message"],
            )
            assert same(found.data, error.get("data"), exact=True)
            written = methods.serialise_error(found.id, found.code, found.message, found.data)
            assert same(json.loads(written), message, exact=True)


def test_a_request_without_id_is_no_request() -> None:
    for example in examples("request-missing-id", sound=False):
        with tables.case(example.name):
            methods = load(example.revision).methods
            with pytest.raises(RemoteError):
                methods.parse_request(_encode(example.message()), sender="client")


def test_no_example_is_left_out() -> None:
    shared_json("examples/2025-11-25/index.json", SHOWN)
    covered = len(examples("request", "notification", "response", "error"))
    covered += len(examples("request-missing-id", sound=False))
    assert covered == len(all_examples()) == 262


def _find_request(methods: Any, entry: Json) -> Any:
    """Return the request of an answer; any fitting one if the page has none."""
    if entry["method"] is not None:
        return {**methods.REQUESTS, **methods.INPUT_REQUESTS}[entry["method"]]
    for spec in methods.REQUESTS.values():
        if entry["kind"] == "error" or entry["definition"] in {
            kind.__name__ for kind in spec.results
        }:
            return spec
    raise LookupError(entry["file"])


def _without_empty_params(data: bytes) -> Json:
    # An absent object of params and an empty one are the same.
    message: Json = json.loads(data)
    return {key: value for key, value in message.items() if key != "params" or value != {}}
