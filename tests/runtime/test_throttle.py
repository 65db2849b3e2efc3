"""Log entries about actions that a peer may repeat endlessly."""

import logging

import pytest
from mcp_protogen.runtime.core import throttle
from mcp_protogen.runtime.core.throttle import Throttle


@pytest.fixture(autouse=True)
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "monotonic", lambda: 0)


def test_the_first_few_of_a_kind_are_logged_and_then_ever_fewer_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Throttle("throttled")
    with caplog.at_level(logging.INFO):
        for number in range(34_000):
            log.warning("no message: %s", number)
        log.info("of another kind")
    *first, ten, hundred, thousand, most, other = caplog.messages
    assert first == [f"no message: {number}" for number in range(5)]
    assert ten.startswith("no message: 9 (10 of these")
    assert hundred.startswith("no message: 99 (100 of these")
    assert thousand.startswith("no message: 999 (1000 of these")
    assert most.startswith("no message: 9999 (10000 of these")
    assert other == "of another kind"
    assert {record.module for record in caplog.records} == {__name__}


def test_a_minute_later_they_are_logged_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(throttle, "monotonic", lambda: now)
    log = Throttle("throttled")
    for _ in range(3):
        for number in range(7):
            log.warning("%s", number)
        now += 60
    assert caplog.messages == [str(number) for number in range(5)] * 3


def test_messages_below_log_level_are_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = Throttle("throttled")
    caplog.set_level(logging.WARNING)
    for _ in range(9):
        log.info("x")
    caplog.set_level(logging.INFO)
    log.info("x")
    assert caplog.messages == ["x"]
