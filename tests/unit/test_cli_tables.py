"""Tables of the command line fit what they are printed to."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pyadeq.ext.cli.shared.common import PLACE, as_json
from pyadeq.ext.cli.shared.tables import CHUNK, print_fields, print_rows
from pyadeq.ext.shared.terminal import safe

NAMES = ("id", "n", "user", "tags", "more")
ULID = "01KB2X7VJ3Y2M7A9CZ1QW8R5TN"


@pytest.fixture(autouse=True)
def pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(PLACE, "wide", False)  # a command of another test may have set it


def printed(capsys: pytest.CaptureFixture[str], rows: Sequence[Sequence[object]], **options: Any) -> list[str]:
    print_rows(NAMES, rows, right=["n"], **options)
    return capsys.readouterr().out.splitlines()


def test_what_fits_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, [("a", 10, "", "", "x"), ("bcd", 1)]) == [
        "id    n  user  tags  more",
        "a    10              x",
        "bcd   1",
    ]


def test_columns_without_a_value_are_left_out_first(capsys: pytest.CaptureFixture[str]) -> None:
    head, row = printed(capsys, [(ULID, 1, "", "t" * 30, "m" * 14)], spare=["tags"])
    assert (head.split(), len(row)) == (["id", "n", "tags", "more"], 77)


def test_then_those_that_say_least(capsys: pytest.CaptureFixture[str]) -> None:
    head, row = printed(capsys, [(ULID, 1, "u" * 30, "t" * 30, "m" * 14)], spare=["tags", "user"])
    assert (head.split(), row.split()[0]) == (["id", "n", "user", "more"], ULID)


def test_then_the_longest_texts_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    head, row = printed(capsys, [(ULID, 123, "u" * 40, "t" * 30, "m" * 90)], spare=["user"])
    assert head.split() == ["id", "n", "tags", "more"]
    assert (len(row), row.split()[:2]) == (80, [ULID, "123"])
    assert row.count("…") >= 1


def test_the_first_column_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, [("i" * 120, 1, "u", "t", "m" * 90)])[1].startswith("i" * 120 + " ")


def test_a_long_id_takes_no_room_from_other_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, [("i" * 64, 1, "u", "t" * 9, "m" * 90), (ULID, 1, "u", "t" * 9, "m" * 90)])
    assert rows[1].split()[:4] == ["i" * 64, "1", "u", "t" * 9]
    assert rows[2].split()[:4] == [ULID, "1", "u", "t" * 9]
    assert len(rows[2]) == 80
    assert rows[1][64:] == rows[2][80 - len(rows[1][64:]) :]  # all that is behind it


@pytest.mark.parametrize("columns", ["40", "60", "200"])
def test_the_width_may_be_said(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    rows = printed(capsys, [("a", 1, "u" * 9, "t" * 9, "m" * 900)], spare=["user"])
    assert max(map(len, rows)) == int(columns)


def test_wide_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    PLACE.wide = True
    head, row = printed(capsys, [(ULID, 1, "", "t" * 300, "m" * 900)], spare=["tags", "user"])
    assert (head.split(), len(row.split()[-1])) == (list(NAMES), 900)


def test_later_rows_fit_too(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, [("a", 1, "u", "t", "m")] * CHUNK + [("b" * 20, 10**9, "u" * 40, "t" * 40, "m" * 40)])
    assert len(rows) == CHUNK + 2
    assert max(map(len, rows)) <= 80
    assert printed(capsys, []) == ["id  n  user  tags  more"]


def test_what_no_encoding_knows_is_escaped() -> None:
    assert safe("a\ud800\x1b\N{SNOWMAN}") == "a\\ud800\N{REPLACEMENT CHARACTER}\N{SNOWMAN}"
    assert json.loads(as_json(["\ud800"])) == ["\ud800"]


def test_fields_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("name", "x" * 300), ("a longer name", "")])
    assert capsys.readouterr().out == f"field          value\nname           {'x' * 300}\na longer name\n"
