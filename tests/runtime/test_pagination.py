"""Lists in pages."""

import asyncio
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.errors import InvalidParams
from mcp_protogen.runtime.core.pagination import Page, items, page
from support.tables import case


@pytest.mark.shows("S2-07")
@given(st.lists(st.integers(), max_size=30), st.integers(1, 7))
def test_all_pages_are_the_list(numbers: list[int], size: int) -> None:
    async def fetch(cursor: str | None) -> Page[int]:
        one = page(numbers, cursor, size)
        assert len(one.items) <= size
        return one

    async def walk() -> list[int]:
        return [number async for number in items(fetch, lambda: 30)]

    assert asyncio.run(walk()) == numbers


def test_the_last_page_has_no_cursor() -> None:
    assert page([1, 2], None, 2).next_cursor is None
    assert page([], None).next_cursor is None


def test_a_cursor_of_nobody_is_invalid() -> None:
    for cursor in ["", "2", "YXQ6", "YXQ6LTE", "YXQ6MA", "YXQ6OTk", "ä", "YXQ6IDI"]:
        with case(cursor):
            with pytest.raises(InvalidParams) as caught:
                page([1, 2, 3], cursor, 2)
            assert caught.value.code == -32602
            assert caught.value.problems[0][0] == "/params/cursor"


@given(st.text(max_size=8))
def test_made_up_cursors_never_do_harm(cursor: str) -> None:
    with suppress(InvalidParams):
        assert page(list(range(10)), cursor, 3).items


def test_a_page_has_items() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        page([1], None, 0)


def test_the_cursors_of_many_pages_are_not_all_held() -> None:
    numbers = iter(range(50))

    async def fetch(cursor: str | None) -> Page[int]:
        number = next(numbers, None)
        return Page([1], None if number is None else "x" * 10_000 + str(number))

    async def walk() -> int:
        tracemalloc.start()
        try:
            async for _ in items(fetch, lambda: 100):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert asyncio.run(walk()) < 200_000


def test_cursor_that_leads_nowhere_ends_the_list(caplog: pytest.LogCaptureFixture) -> None:
    last = Page([3, 4], None)
    lists: list[tuple[dict[str | None, Page[int]], list[int], int]] = [
        # An empty cursor ends the list.
        ({None: Page([1, 2], "")}, [1, 2], 1),
        ({None: Page([1, 2], "a"), "a": Page([3], "")}, [1, 2, 3], 2),
        ({None: Page([1, 2], "a"), "a": Page([1, 2], "")}, [1, 2], 2),
        # The server ignores cursors.
        ({None: Page([1, 2], "a"), "a": Page([1, 2], "a")}, [1, 2], 2),
        ({None: Page([], "a"), "a": Page([], "a")}, [], 2),
        # A further page points to itself.
        ({None: Page([1, 2], "a"), "a": Page([3], "a")}, [1, 2, 3], 2),
        # The pages are a cycle.
        ({None: Page([1], "a"), "a": Page([2], "b"), "b": Page([1], "a")}, [1, 2], 3),
        ({None: Page([1], "a"), "a": Page([2], "b"), "b": Page([3], "a")}, [1, 2, 3], 3),
        # Equal pages are fine as long as the cursor gets on.
        ({None: Page([1], "a"), "a": Page([1], "b"), "b": last}, [1, 1, 3, 4], 3),
    ]
    for pages, expected, requests in lists:
        with case(pages):
            caplog.clear()
            asked: list[str | None] = []
            assert asyncio.run(listed_items(pages, asked)) == expected
            assert len(asked) == requests
            assert ("cut short" in caplog.text) == (last not in pages.values())


async def listed_items(pages: dict[str | None, Page[int]], asked: list[str | None]) -> list[int]:
    async def fetch(cursor: str | None) -> Page[int]:
        asked.append(cursor)
        return pages[cursor]

    return [number async for number in items(fetch, lambda: 9)]
