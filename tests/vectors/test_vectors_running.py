"""Whatever a program does: a finding or one clear problem, and nothing is left running."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.vectors import program, running
from mcp_protogen.instep.vectors.envelope import is_envelope
from mcp_protogen.instep.vectors.outcome import VectorResult, VectorRun, Verdict
from mcp_protogen.instep.vectors.outcome_changes import comparison
from mcp_protogen.instep.vectors.running import run_vectors
from mcp_protogen.instep.vectors.vector import VectorSet
from support import tables
from support.folders import TESTS
from support.revisions import NEWEST
from support.vectors.processes import ends, is_running
from support.vectors.vector_sets import GOLDEN, ODD, find_vector, vectors

ID = "Tool/valid/full"


def few(count: int = 4) -> VectorSet:
    all_ = vectors(NEWEST)
    tools = tuple(v for v in all_.vectors if v.subject.type == "Tool")
    return replace(all_, vectors=tools[:count])


def command(way: str, where: str) -> list[str]:
    return [*ODD, way, where]


def problem(way: str, where: str = ID, *, timeout: float = 20.0) -> tuple[str, str, str]:
    with pytest.raises(ProblemError) as caught:
        run_vectors(command(way, where), few(), timeout=timeout)
    (found,) = caught.value.problems
    assert "odd_responder.py" in found.place
    return found.code, found.message, found.hint


def test_a_wrong_answer_is_one_problem_that_names_the_vector() -> None:
    rows: list[tuple[str, str, str]] = [
        ("no-json", "bad-answer", f"the answer to {ID} is '{{]', which is not a JSON object"),
        ("no-object", "bad-answer", f"the answer to {ID} is '[1]', which is not a JSON object"),
        ("not-utf-8", "bad-answer", f"the answer to {ID} is '��', which is not a JSON object"),
        ("print", "bad-answer", f"the answer to {ID} is 'loading the model ...', which is no"),
        ("nan", "bad-answer", f"the answer to {ID} is"),
        ("wrong-id", "bad-answer", f"the answer to {ID} has the id 'Tool/valid/other'"),
        ("wrong-verdict", "bad-answer", f"the answer to {ID} has the verdict 'maybe'"),
        ("huge", "bad-answer", f"the answer to {ID} is longer than 16 MiB"),
    ]
    for way, code, message in rows:
        with tables.case(way):
            found = problem(way)
            assert found[0] == code
            assert found[1].startswith(message)


# -- Programs that fail over a value --------------------------------------------------------------


def run_failing(way: str, *, timeout: float = 20.0) -> VectorResult:
    """What is found out about the vector that the program fails over; it answers all others."""
    results = run_vectors(command(way, ID), few(), timeout=timeout).results
    assert [result.vector.id for result in results] == [vector.id for vector in few().vectors]
    (failed,) = [result for result in results if result.verdict is not Verdict.UNKNOWN]
    assert failed.vector.id == ID
    return failed


def test_a_program_that_ends_over_a_value_is_asked_about_the_others() -> None:
    for way, how in (
        ("exit", "ended with exit code 3: ValueError: out of luck"),
        ("segfault", "was ended by signal 11"),
        ("close-output", "closed its output"),
    ):
        with tables.case(way):
            failed = run_failing(way)
            assert (failed.verdict, failed.error) == (Verdict.CRASHED, how)


def test_a_program_that_hangs_over_a_value_is_asked_about_the_others() -> None:
    for way in ("hang", "stop-reading"):
        with tables.case(way):
            failed = run_failing(way, timeout=2.0)
            assert (failed.verdict, failed.error) == (Verdict.HUNG, "no answer within 2 seconds")


def test_a_program_that_fails_over_everything_is_given_up() -> None:
    with pytest.raises(ProblemError) as caught:
        run_vectors(command("exit", "vectors"), few(12))
    (found,) = caught.value.problems
    tenth = few(12).vectors[9].id
    assert (found.code, found.message) == (
        "responder-ended",
        f"it ended with exit code 3 before it answered {tenth}",
    )
    assert found.hint == "its last line on standard error: ValueError: out of luck"


def test_a_program_that_fails_over_the_last_value_is_not_started_in_vain() -> None:
    last = few(2).vectors[-1].id
    results = run_vectors(command("exit", last), few(2)).results
    assert [result.verdict for result in results] == [Verdict.UNKNOWN, Verdict.CRASHED]


def test_a_program_is_not_asked_about_subjects_that_it_does_not_know() -> None:
    results = run_vectors(command("exit", "vectors"), few(2), known=()).results
    assert [result.verdict for result in results] == [Verdict.UNKNOWN] * 2


def test_a_program_that_never_answers_is_given_up_after_its_time() -> None:
    for where in ("hello", "vectors"):
        with tables.case(where):
            name = "the hello" if where == "hello" else few(1).vectors[0].id
            code, message, _ = problem("hang", where, timeout=1.0)
            assert (code, message) == ("responder-silent", f"no answer to {name} within 1 seconds")


def play(monkeypatch: pytest.MonkeyPatch, script: str) -> VectorRun:
    """Ask a program about a vector for each letter: it answers, hangs or ends."""
    ways = iter(script)

    class Playing(program.Program):
        async def answer(self, line: bytes) -> bytes:
            asked = json.loads(line)
            if "id" not in asked:
                return b'{"responder": 1}'
            match next(ways):
                case "h":
                    raise TimeoutError
                case "e":
                    raise asyncio.IncompleteReadError(b"", None)
                case _:
                    return json.dumps({"id": asked["id"], "verdict": "unknown"}).encode()

        async def ending(self) -> str:
            return "ended"

    @asynccontextmanager
    async def start(_: program.Start) -> AsyncGenerator[program.Program, None]:
        yield Playing(1)

    monkeypatch.setattr(running, "start_program", start)
    return run_vectors(["odd"], few(len(script)))


def test_program_is_given_up_after_a_silent_start_or_ten_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for script in ("ah", "eh", "ea", "aeh", "e" * 9 + "a", "ae" + "h" * 8, "a" * 12):
        with tables.case(script):
            assert len(play(monkeypatch, script).results) == len(script)
    for script, asked in (
        ("h", 1),
        ("ha", 1),
        ("e" * 12, 10),
        ("a" + "h" * 12, 11),
        ("aah" + "e" * 12, 12),
    ):
        with tables.case(script), pytest.raises(ProblemError) as caught:
            play(monkeypatch, script)
        (found,) = caught.value.problems
        assert few(len(script)).vectors[asked - 1].id in found.message


def test_a_program_that_ends_at_once_is_no_program_to_try() -> None:
    code, message, _ = problem("exit", "hello")
    assert code == "responder-ended"
    assert message == "it ended with exit code 3 before it answered the hello"


# -- What is left behind --------------------------------------------------------------------------


def child_in(text: str) -> int:
    found = re.search(r"child (\d+)", text)
    assert found is not None
    return int(found[1])


def test_child_of_hanging_program_is_ended() -> None:
    _, _, hint = problem("hang-with-child", "hello", timeout=2.0)
    assert ends(child_in(hint))


def test_a_daemon_that_keeps_the_pipes_open_is_not_waited_for() -> None:
    """Build servers outlive who started them: waiting for the end of the output would take ages."""
    _, _, hint = problem("hang-with-daemon", "hello", timeout=2.0)
    # The other program ends by itself.
    said = run_vectors(command("leave-daemon", "hello"), few()).implementation
    for child in map(child_in, (hint, said)):
        assert is_running(child)
        os.kill(child, signal.SIGKILL)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    async def handler() -> object:
        return signal.getsignal(signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert program.run(handler()) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_programs_can_be_tried_from_any_thread() -> None:
    implementations: list[str] = []

    def work() -> None:
        implementations.append(run_vectors(command("noisy", ID), few()).implementation)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert implementations == ["odd"]


# -- Greetings ------------------------------------------------------------------------------------


def test_program_name_fits_on_line() -> None:
    outcome = run_vectors(command("colourful-name", "hello"), few())
    assert outcome.implementation.startswith("\\u001b[31mred\\nand moreee")
    assert len(outcome.implementation) == 200


def test_output_at_import_is_distinguished_from_answers() -> None:
    code, message, hint = problem("print", "hello")
    assert code == "bad-answer"
    assert message.startswith("the answer to the hello is 'loading the model ...'")
    assert "print everything else to standard error" in hint


def test_a_program_may_say_that_it_does_not_speak_a_revision() -> None:
    code, message, _ = problem("refuse-hello", "hello")
    assert code == "responder-refuses"
    assert message == "it refuses vectors: only 2024-11-05 is spoken here"


def test_an_envelope_is_apart_or_not_spoken_of() -> None:
    code, message, hint = problem("odd-envelope", "hello")
    assert (code, message) == ("bad-answer", "the answer to the hello has the envelope 'inside'")
    assert "apart" in hint


def test_who_keeps_the_envelope_apart_is_not_blamed_for_it_once_this_is_said() -> None:
    subjects = {"tools/call": ("request", "result"), "notifications/cancelled": ("notification",)}
    all_ = vectors(NEWEST)
    chosen = tuple(
        v
        for v in all_.vectors
        if v.subject.kind in subjects.get(v.subject.method, ())
        or v.subject.type in ("JSONRPCRequest", "ToolUseContent")
    )
    golden = [*GOLDEN, "apart"]
    silent, told = (
        comparison(run_vectors([*golden, *more], replace(all_, vectors=chosen)))
        for more in ([], ["told"])
    )
    about = {change.item.rpartition(".")[2] for change in silent.changes}
    assert {"jsonrpc", "id", "method"} <= about
    assert told.changes == ()


def test_the_envelope_of_a_message_is_what_is_not_inside() -> None:
    for id, pointer, expected in (
        ("tools/call:request:client/invalid/id/null", "/id", True),
        ("tools/call:request:client/valid/minimal", "/x-undeclared", True),
        ("tools/call:request:client/invalid/type-array", "", True),
        ("tools/call:request:client/invalid/params/name/missing", "/params/name", False),
        ("tools/call:result:server/valid/minimal", "/result", False),
        ("CallToolRequest/invalid/jsonrpc/missing", "/jsonrpc", True),
        ("CallToolRequest/valid/minimal", "/id", True),
        ("JSONRPCRequest/valid/minimal", "/id", False),
        ("ToolUseContent/valid/minimal", "/id", False),
        ("URLElicitationRequiredError/valid/minimal", "/error/code", False),
    ):
        with tables.case(id):
            assert is_envelope(find_vector("2025-11-25", id), pointer) is expected


def test_standard_error_may_be_as_long_as_it_likes() -> None:
    outcome = run_vectors(command("noisy", ID), few())
    assert outcome.implementation == "odd"
    verdicts = {result.vector.id: result.verdict for result in outcome.results}
    assert verdicts[ID] is Verdict.ACCEPTED


@pytest.mark.parametrize("argv", [["no-such-program-here"], [os.fspath(TESTS)], ["a\0b"]])
def test_a_program_that_cannot_be_started_is_one_problem(argv: list[str]) -> None:
    with pytest.raises(ProblemError) as caught:
        run_vectors(argv, few())
    (found,) = caught.value.problems
    assert found.code == "responder-not-started"


def test_a_value_larger_than_any_pipe_goes_both_ways() -> None:
    vector = replace(find_vector(NEWEST, "TextContent/valid/full"), valid=True)
    big = {**vector.value, "text": "é" * 1_000_000}
    one = VectorSet(NEWEST, "", (replace(vector, value=big),))
    (result,) = run_vectors(GOLDEN, one).results
    assert result.verdict is Verdict.ACCEPTED
    assert result.losses == ()


def test_program_is_ended_where_processes_have_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg", raising=False)
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        ended: Any = process
        program.kill_group(process.pid, ended)
        assert process.wait(30) != 0
