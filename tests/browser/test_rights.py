"""What the forms of the pages are refused: to people who may only read, and to other sites."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.browser.conftest import Board
from tests.browser.screens import LOST, PATHS


class Forms(HTMLParser):
    """The forms of a page that post: their actions and what they would send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._fields: dict[str, str] | None = None
        self._select = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, a field, or a button with an action of its own."""
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._fields = {} if known.get("method") == "post" else None
            if self._fields is not None and "action" in known:  # without, each button has one
                self.found.append((known["action"], self._fields))
        elif self._fields is not None and tag in ("input", "button", "textarea", "select"):
            if "name" in known:
                empty = "on" if known.get("type") == "checkbox" else "1"
                self._fields[known["name"]] = known.get("value") or empty
            self._select = known.get("name", "") if tag == "select" else ""
            if "formaction" in known:
                self.found.append((known["formaction"], self._fields))

        elif self._fields is not None and tag == "option" and self._select and "value" in known:
            self._fields[self._select], self._select = known["value"], ""  # the first one, as a browser would

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a form."""
        if tag == "form":
            self._fields = None


@pytest.fixture(scope="module")
def forms(board: Board) -> dict[str, dict[str, str]]:
    """All forms that somebody sees who may do anything, by their actions."""
    found: dict[str, dict[str, str]] = {}
    with board.http("ann") as http:
        for path in PATHS:
            answer = http.get(path)
            assert answer.status_code == (404 if path in LOST else 200), path
            found |= dict(Forms(answer.text).found)
    return {action: fields for action, fields in found.items() if action not in ("/login", "/logout")}


def posts(
    board: Board, forms: dict[str, dict[str, str]], person: str, **headers: str
) -> Iterator[tuple[str, int, Any]]:
    """What a person is answered who posts each of them."""
    with board.http(person) as http:
        for action, fields in forms.items():
            answer = http.post(action, data=fields, headers=headers)
            yield action, answer.status_code, answer


def test_a_reader_can_post_no_form(board: Board, forms: dict[str, dict[str, str]]) -> None:
    """Nor does a reader see any, though each is refused by the API, not by the page."""
    assert len(forms) > 3
    refused = {
        action: (status, "<h1>Forbidden</h1>" in answer.text) for action, status, answer in posts(board, forms, "eve")
    }
    assert {action: one for action, one in refused.items() if one != (403, True)} == {}
    with board.http("eve") as http:
        for path in PATHS:
            seen = [action for action, _ in Forms(http.get(path).text).found if action not in ("/login", "/logout")]
            assert seen == [], path


def test_another_site_can_post_no_form(board: Board, forms: dict[str, dict[str, str]]) -> None:
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        answers = {
            action: (status, answer.json()["code"]) for action, status, answer in posts(board, forms, "ann", **headers)
        }
        assert {action: one for action, one in answers.items() if one != (403, "CROSS_SITE")} == {}
