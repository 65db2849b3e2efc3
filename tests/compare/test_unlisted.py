"""Everything between adjacent revisions that the reference list has no words for, written down.

`PYTHONPATH=tests python -m support.compare.unlisted` writes it down anew.
"""

from support import tables
from support.compare.unlisted import file_of, written
from support.revisions import NEIGHBOURS


def test_what_no_list_has_is_as_written_down() -> None:
    for before, after in NEIGHBOURS:
        with tables.case((before, after)):
            assert written(before, after) == file_of(before, after).read_text(encoding="utf-8")
