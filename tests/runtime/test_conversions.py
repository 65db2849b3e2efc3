"""What conversions change, and what they report as lost."""

from mcp_protogen.runtime.core.losses import Loss, Report
from mcp_protogen.runtime.translation.conversions import CONVERSIONS, Here
from support import tables


def test_suggestions_beyond_the_hundredth_are_dropped_and_reported() -> None:
    for count in (0, 99, 100, 101, 103):
        with tables.case(count):
            values = [str(number) for number in range(count)]
            report = Report([])
            found = CONVERSIONS["at_most_100_values"]({"values": values}, Here(None, report, "why"))
            if count <= 100:
                assert found == {"values": values}
            else:
                assert found == {"values": values[:100], "hasMore": True, "total": count}
            dropped = [
                Loss(f"/values/{index}", "dropped", "why", False) for index in range(100, count)
            ]
            assert report.losses == dropped


def test_total_of_suggestions_stays_as_it_was_said() -> None:
    value = {"values": ["a"] * 101, "total": 5_000}
    found = CONVERSIONS["at_most_100_values"](value, Here(None, Report([]), "why"))
    assert found["total"] == 5_000
