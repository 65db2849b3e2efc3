"""Questions of servers are answered by a user, or by given answers."""

import asyncio
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from mcp_protogen.servers.call.calls import CallTimeout
from mcp_protogen.servers.call.connections import ELICIT, ROOTS, SAMPLE
from mcp_protogen.servers.call.questions import Questions
from support.tables import case

T = TypeVar("T")

FORM = {
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 3}},
        "required": ["name"],
    },
}


class Scripted:
    """A user who answers by a script; then input ends."""

    def __init__(self, *answers: str) -> None:
        self.answers = [*answers]
        self.heard: list[str] = []

    def tell(self, text: str) -> None:
        self.heard.append(text)

    async def read_line(self, prompt: str) -> str | None:
        self.heard.append(prompt)
        return self.answers.pop(0) if self.answers else None


class Asked:
    """Questions, and a record of output and opened pages."""

    def __init__(self, user: Scripted | None, **given: str) -> None:
        self.told: list[str] = []
        self.opened: list[str] = []
        self.questions = Questions(
            user=user, tell=self.told.append, given=given, open_page=self.open
        )

    def open(self, url: str) -> bool:
        self.opened.append(url)
        return "nobrowser" not in url

    def elicit(self, params: dict[str, Any]) -> dict[str, Any]:
        return dict(asyncio.run(self.questions.elicit(params)))


def test_a_person_fills_in_a_form_and_is_asked_again_for_what_does_not_fit() -> None:
    user = Scripted("", "ada", "old", "7")
    answer = Asked(user).elicit(FORM)
    assert answer == {"action": "accept", "content": {"name": "ada", "age": 7}}
    assert user.heard[0] == "The server asks: Who?"
    assert user.heard.count("name: ") == user.heard.count("age [3]: ") == 2
    assert "  an answer is needed" in user.heard and "  'old' is not a number" in user.heard


def test_a_person_may_decline_cancel_and_end_the_input() -> None:
    for answers, action in (
        (["!decline"], "decline"),
        (["ada", "!cancel"], "cancel"),
        ([], "cancel"),
    ):
        with case(answers):
            assert Asked(Scripted(*answers)).elicit(FORM) == {"action": action}


def test_a_form_without_fields_is_a_question_of_yes_or_no() -> None:
    form: dict[str, Any] = {
        "message": "Sure?",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    assert Asked(Scripted("")).elicit(form) == {"action": "accept", "content": {}}
    assert Asked(Scripted("n")).elicit(form) == {"action": "decline"}


def test_prefilled_answers_are_not_asked() -> None:
    user = Scripted("")
    answer = Asked(user, name="ada").elicit(FORM)
    assert answer["content"] == {"name": "ada", "age": 3}
    assert "name: " not in user.heard


def test_without_a_person_a_form_is_answered_by_what_was_given() -> None:
    assert Asked(None, name="ada").elicit(FORM)["content"] == {"name": "ada", "age": 3}
    assert Asked(None, name="ada", age="7").elicit(FORM)["content"] == {"name": "ada", "age": 7}
    lacking = Asked(None, age="7")
    assert lacking.elicit(FORM) == {"action": "cancel"}
    assert lacking.told == ["the server's question 'Who?' was cancelled: give --answer name=…"]
    assert lacking.questions.lacks_answers


def test_given_answer_that_does_not_fit_cancels_the_question_and_its_default_is_not_sent() -> None:
    wrong = Asked(None, name="ada", age="x")
    assert wrong.elicit(FORM) == {"action": "cancel"}
    assert wrong.told == [
        "the server's question 'Who?' was cancelled: --answer age: 'x' is not a number"
    ]
    assert wrong.questions.lacks_answers
    both = Asked(None, age="x")
    both.elicit(FORM)
    assert both.told[0].endswith("--answer age: 'x' is not a number; give --answer name=…")
    for age in ("1e400", "NaN", "-Infinity", "1.5"):
        with case(age):
            assert Asked(None, name="ada", age=age).elicit(FORM) == {"action": "cancel"}


def test_given_answer_to_a_field_that_no_form_has_is_told_at_the_end() -> None:
    asked = Asked(None, nme="x", age="7")

    async def call(client: object) -> str:
        await asked.questions.elicit(FORM)
        return "done"

    async def end(client: object) -> None: ...

    client: Any = None
    assert asyncio.run(_await(asked.questions.tell_of_unused(call)(client))) == "done"
    assert asked.told[1:] == ["--answer nme: no question has such a field (did you mean name?)"]
    silent = Asked(None, nme="x")
    asyncio.run(_await(silent.questions.tell_of_unused(end)(client)))
    assert silent.told == ["--answer nme: no question has such a field (the server asked nothing)"]


async def _await(work: Awaitable[T]) -> T:
    return await work


def test_person_is_asked_for_a_field_whose_given_answer_does_not_fit() -> None:
    user = Scripted("7")
    asked = Asked(user, name="ada", age="x")
    assert asked.elicit(FORM) == {"action": "accept", "content": {"name": "ada", "age": 7}}
    assert user.heard[0] == "--answer age: 'x' is not a number"
    assert not asked.questions.lacks_answers


def test_a_page_is_opened_only_after_a_yes_and_its_host_is_shown() -> None:
    page = {"message": "Sign in", "url": "https://bank.example/pay?id=1", "mode": "url"}
    for answer, action, opened in (
        ("y", "accept", 1),
        ("", "decline", 0),
        ("!cancel", "cancel", 0),
    ):
        with case(answer):
            user = Scripted(answer)
            asked = Asked(user)
            assert asked.elicit(page) == {"action": action}
            assert asked.opened == [page["url"]] * opened
            assert any("a page at bank.example:" in line for line in user.heard)


def test_only_pages_of_https_and_of_this_machine_are_opened() -> None:
    for url, host in (
        ("https://bank.example/", "bank.example"),
        ("http://localhost:8000/x", "localhost"),
        ("http://[::1]/x", "::1"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("http://bank.example/", None),
        ("https://bank.example@evil.example/", None),
        ("file:///etc/passwd", None),
        ("javascript:alert(1)", None),
        ("https://", None),
        ("https://[", None),
    ):
        with case(url):
            user = Scripted("y")
            asked = Asked(user)
            answer = asked.elicit({"message": "Open", "url": url})
            assert answer == {"action": "accept" if host else "decline"}
            assert asked.opened == ([url] if host else [])
            said = f"a page at {host}:" if host else "with a host and without a user name"
            assert any(said in line for line in user.heard)


def test_a_page_without_a_browser_is_left_to_the_person() -> None:
    user = Scripted("y")
    Asked(user).elicit({"message": "Open", "url": "https://nobrowser.example/"})
    assert user.heard[-1] == "No browser was found. Open the page yourself."


def test_only_what_can_be_answered_or_is_asked_for_is_declared() -> None:
    folder = (Path("/tmp"),)
    for questions, methods, pages in (
        (Questions(user=None, tell=print), set[str](), False),
        (Questions(user=None, tell=print, given={"a": "b"}), {ELICIT}, False),
        (Questions(user=None, tell=print, given={"sampling": "b"}), set[str](), False),
        (Questions(user=None, tell=print, elicits=True), {ELICIT}, True),
        (Questions(user=None, tell=print, samples=True, roots=folder), {ROOTS, SAMPLE}, False),
        (Questions(user=Scripted(), tell=print), {ELICIT}, True),
        (Questions(user=Scripted(), tell=print, samples=True), {ELICIT, SAMPLE}, True),
    ):
        with case(questions):
            found = questions.abilities()
            assert ({*found.answers}, found.pages) == (methods, pages)


def test_folders_and_typed_texts_are_answers_too(tmp_path: Path) -> None:
    user = Scripted("It rains.")
    questions = Questions(user=user, tell=print, roots=[tmp_path], samples=True)
    listed = asyncio.run(questions.list_roots({}))
    assert listed == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
    content = [{"type": "text", "text": "Weather?"}, {"type": "image"}]
    params = {"systemPrompt": "Be brief.", "messages": [{"role": "user", "content": content}]}
    written = asyncio.run(questions.sample(params))
    assert written["content"] == {"type": "text", "text": "It rains."}
    assert user.heard[1:3] == ["  system: Be brief.", "  user: Weather? [image]"]


def test_time_stands_still_while_a_person_thinks_and_questions_come_one_by_one() -> None:
    events: list[str] = []

    @contextmanager
    def waiting() -> Generator[None, None, None]:
        events.append("begin")
        yield
        events.append("end")

    user = Scripted("ada", "7", "bob", "8")
    questions = Questions(user=user, tell=print, waiting=waiting)

    async def both() -> None:
        await asyncio.gather(questions.elicit(FORM), questions.elicit(FORM))

    asyncio.run(both())
    assert events == ["begin", "end"] * 2


@pytest.mark.skips_time
async def test_time_of_a_call_stands_still_only_while_it_is_paused() -> None:
    limit = CallTimeout(3)
    seen = [limit.stands_still]

    async def work() -> None:
        seen.append(limit.stands_still)
        with limit.pause():
            await asyncio.sleep(10)
            seen.append(limit.stands_still)
        seen.append(limit.stands_still)

    await limit.run(work, cast(Any, None))
    assert [*seen, limit.stands_still] == [False, False, True, False, False]
