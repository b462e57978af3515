"""The state of the picker, without a terminal."""

from __future__ import annotations

from winnow.frontends.cli.picker.state import HINT, Action, Answer, Choice, Picker, Preview, Row

A, B, C = (Row(name, f"/project/{name}") for name in ("a.py", "b.py", "c.py"))


def answered(*rows: Row, query: str = "needle") -> Picker:
    picker = Picker()
    picker.answered(typed(picker, query), Answer(rows, search_id="1"))
    return picker


def typed(picker: Picker, text: str) -> int:
    number = picker.typed(text)
    assert number is not None
    return number


def test_without_a_query_there_is_a_hint() -> None:
    picker = Picker()
    assert picker.answer == Answer(summary=HINT)
    number = typed(picker, "needle")
    assert picker.answer == Answer()
    picker.answered(number, Answer([A]))
    assert picker.row == A
    typed(picker, "  ")
    assert picker.answer == Answer(summary=HINT)


def test_blanks_around_a_query_start_no_search() -> None:
    picker = answered(A)
    assert picker.typed("needle ") is None
    assert picker.typed(" needle") is None
    assert picker.typed("needles") is not None


def test_earlier_rows_stay_until_the_answer_comes() -> None:
    picker = answered(A, B)
    number = typed(picker, "needles")
    assert list(picker.answer.rows) == [A, B]
    picker.answered(number, Answer([C]))
    assert list(picker.answer.rows) == [C]


def test_a_late_answer_never_replaces_a_newer_one() -> None:
    picker = Picker()
    first, second = typed(picker, "n"), typed(picker, "ne")
    picker.answered(first, Answer([A]))
    assert picker.row is None
    picker.answered(second, Answer([B]))
    picker.answered(first, Answer([A]))
    picker.failed(first, "broken")
    assert picker.answer == Answer([B])


def test_an_answer_that_comes_after_the_query_was_cleared_is_not_shown() -> None:
    picker = Picker()
    number = typed(picker, "needle")
    typed(picker, "")
    picker.answered(number, Answer([A]))
    assert picker.answer == Answer(summary=HINT)


def test_a_failure_replaces_the_rows_of_an_earlier_query() -> None:
    picker = answered(A)
    picker.failed(typed(picker, "needles"), "broken")
    assert picker.answer == Answer(notes=["broken"])
    assert picker.choose(Action.OPEN) is None


def test_progress_is_shown_until_the_answer_comes() -> None:
    picker = Picker()
    first, second = typed(picker, "n"), typed(picker, "ne")
    picker.report(first, "late")
    assert picker.progress == ""
    picker.report(second, "searching")
    assert picker.progress == "searching"
    picker.answered(second, Answer())
    assert picker.progress == ""
    picker.report(second, "late")
    assert picker.progress == ""


def test_the_selection_stays_within_the_rows() -> None:
    picker = answered(A, B, C)
    picker.move(-1)
    assert picker.row == A
    picker.move(1)
    assert picker.row == B
    picker.move(10)
    assert picker.row == C
    empty = Picker()
    empty.move(1)
    assert empty.row is None
    assert empty.choose(Action.PRINT) is None


def test_a_new_answer_selects_its_first_row() -> None:
    picker = answered(A, B)
    picker.move(1)
    picker.answered(typed(picker, "needles"), Answer([B, C]))
    assert picker.row == B


def test_a_choice_has_the_rank_of_the_row() -> None:
    picker = answered(A, B)
    picker.select(1)
    assert picker.choose(Action.PRINT) == Choice(Action.PRINT, B, 2, "1")
    assert picker.decided() is None


def test_enter_before_the_answer_waits_for_it() -> None:
    picker = answered(A)
    number = typed(picker, "needles")
    assert picker.choose(Action.OPEN) is None
    assert picker.decided() is None
    picker.answered(number, Answer([B, C], search_id="2"))
    assert picker.decided() == Choice(Action.OPEN, B, 1, "2")
    assert picker.decided() is None


def test_enter_before_an_empty_answer_chooses_nothing() -> None:
    picker = answered(A)
    number = typed(picker, "needles")
    picker.choose(Action.OPEN)
    picker.answered(number, Answer())
    assert picker.decided() is None


def test_typing_on_forgets_an_earlier_enter() -> None:
    picker = Picker()
    typed(picker, "needle")
    picker.choose(Action.OPEN)
    picker.answered(typed(picker, "needles"), Answer([A]))
    assert picker.decided() is None


def test_a_row_that_was_selected_before_the_answer_is_chosen_at_once() -> None:
    picker = answered(A, B)
    typed(picker, "needles")
    picker.move(1)
    assert picker.choose(Action.OPEN) == Choice(Action.OPEN, B, 2, "1")


def test_a_preview_of_a_row_that_is_no_longer_selected_is_not_shown() -> None:
    picker = answered(A, B)
    picker.previewed(Preview(A))
    assert picker.preview == Preview(A)
    picker.move(1)
    # The earlier one stays until the next one comes.
    assert picker.preview == Preview(A)
    picker.previewed(Preview(C))
    assert picker.preview == Preview(A)
    picker.previewed(Preview(B))
    assert picker.preview == Preview(B)


def test_a_better_answer_keeps_the_selected_row() -> None:
    picker = answered(A, B)
    picker.move(1)
    picker.refreshed(1, Answer([C, A, B], search_id="2"))
    assert picker.choose(Action.OPEN) == Choice(Action.OPEN, B, 3, "2")


def test_a_better_answer_keeps_the_file_of_the_selected_row() -> None:
    picker = answered(Row("a.py", "/project/a.py", 5))
    picker.refreshed(1, Answer([C, Row("a.py", "/project/a.py", 7)]))
    assert picker.selected == 1


def test_a_better_answer_without_the_selected_row_keeps_the_position() -> None:
    picker = answered(A, B)
    picker.move(1)
    picker.refreshed(1, Answer([A, C]))
    assert picker.row == C
    picker.refreshed(1, Answer([A]))
    assert picker.row == A
    picker.refreshed(1, Answer())
    assert picker.row is None


def test_a_better_answer_to_an_earlier_query_is_not_shown() -> None:
    picker = answered(A)
    typed(picker, "needles")
    picker.refreshed(1, Answer([B]))
    assert picker.row == A
