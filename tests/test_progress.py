"""The line that counts passes its items on and is seen by people only."""

import io

from attsvm_lib.progress import with_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_items_pass_through_unchanged():
    assert list(with_progress(iter("abc"), 3, "letters", True, io.StringIO())) == ["a", "b", "c"]


def test_progress_is_silent_unless_asked_for_or_a_terminal(capsys):
    for shown, out in ((None, io.StringIO()), (False, Terminal())):
        list(with_progress(range(3), 3, "counting", shown, out))
        assert out.getvalue() == ""
    for shown, out in ((True, io.StringIO()), (None, Terminal())):
        list(with_progress(range(3), 3, "counting", shown, out))
        assert out.getvalue().endswith("\rcounting: 3/3\n")
    list(with_progress(range(3), 3, "counting"))
    assert capsys.readouterr() == ("", "")


def test_a_long_line_of_work_is_counted_fifty_times():
    out = io.StringIO()
    list(with_progress(range(1000), 1000, "counting", True, out))
    assert out.getvalue().count("\r") == 50
