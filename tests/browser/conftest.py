"""A board as users start it, filled by the scene, and a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from pyadeq import Adeq, EmbeddedServer
from pyadeq.ext.operations.rights import all_rights
from pyadeq.ext.server.tokens import NAMESPACE, new_token
from tests.browser.screens import fill
from tests.serving import serving
from tests.waiting import DEADLINE

SIZE = {"width": 1280, "height": 800}
TELL = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy", event.violatedDirective, event.blockedURI));
"""


class Board(NamedTuple):
    """A running service. at: its address. tokens: the text of the token of each person."""

    at: str
    tokens: dict[str, str]
    adeq: Adeq
    cookies: dict[str, dict[str, str]]

    def http(self, person: str) -> httpx.Client:
        """The board as a person's browser asks for it, but for the browser."""
        headers = {"Sec-Fetch-Site": "same-origin"}
        return httpx.Client(base_url=self.at, cookies=self.cookies[person], headers=headers, timeout=DEADLINE)


def launched(playwright: Playwright) -> Browser:
    """The browser of the PATH: chromium, or Chrome where a distribution has chromium only as a snap."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "install chromium"
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=program, args=sandbox)


def logged_in(at: str, text: str) -> dict[str, str]:
    """The cookies of a login."""
    with httpx.Client(base_url=at, headers={"Sec-Fetch-Site": "same-origin"}, timeout=DEADLINE) as http:
        assert http.post("/login", data={"token": text}).status_code == 303
        return dict(http.cookies)


@pytest.fixture(scope="session")
def installation() -> Iterator[tuple[EmbeddedServer, Adeq, dict[str, str]]]:
    """A server with the scene, and the tokens of `ann`, who may do anything, and `eve`, who may read; of `ben`, who
    reviews changes, and of a portal that acts for `zoe` alone.
    """
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        fill(adeq)
        texts = {}
        reviewer = ["observer", "change.author", "change.review"]
        people: dict[str, dict[str, Any]] = {
            "ann": {"rights": sorted(all_rights())},
            "eve": {"rights": ["observer"]},
            "ben": {"rights": reviewer},
            "zoe": {"rights": reviewer, "user": "zoe"},
        }
        for person, given in people.items():
            id, texts[person], token = new_token("portal" if "user" in given else person, **given)
            adeq.config(NAMESPACE).set(id, token.encoded())
        yield server, adeq, texts


@pytest.fixture(scope="session")
def board(
    installation: tuple[EmbeddedServer, Adeq, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    """The board of this installation."""
    server, adeq, texts = installation
    with serving(tmp_path_factory.mktemp("board") / "log", "--url", server.url) as at:
        yield Board(at, texts, adeq, {person: logged_in(at, text) for person, text in texts.items()})


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The distribution's browser."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


class Tab(NamedTuple):
    """A page of a browser, and what went wrong in it."""

    page: Page
    wrong: list[str]


@contextmanager
def opened(browser: Browser, board: Board, person: str | None = "ann", **options: Any) -> Iterator[Tab]:
    """A tab of somebody who is logged in; None: of nobody."""
    context: BrowserContext = browser.new_context(base_url=board.at, **{"viewport": SIZE, **options})
    context.set_default_timeout(DEADLINE * 1000)
    if person is not None:
        cookies = board.cookies[person].items()
        context.add_cookies([{"name": name, "value": value, "url": board.at} for name, value in cookies])
    context.add_init_script(TELL)
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(f"{request.url}: {request.failure}"))
    try:
        yield Tab(page, wrong)
    finally:
        context.close()
