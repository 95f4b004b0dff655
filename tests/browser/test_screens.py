"""Each screen: without a fault in light and dark; and by the day narrow, at twice the size, and without scripts."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.browser.conftest import Board, opened
from tests.browser.screens import LOST, NO_SCREENS, PATHS, SCREENS, routes

MISSING = 404
WAYS: dict[str, dict[str, Any]] = {
    "narrow": {"viewport": {"width": 360, "height": 800}},
    "zoomed": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
    "without scripts": {"java_script_enabled": False},
}
"""At 200 % zoom, a window of 1,280 pixels has room for 640."""
axe = Axe()


def test_a_violation_of_the_policy_is_noticed(browser: Browser, board: Board) -> None:
    with opened(browser, board) as (page, wrong):
        page.goto("/")
        page.evaluate("document.body.setAttribute('style', 'color: red')")
        assert any("style-src" in text for text in wrong)


def test_no_screen_is_forgotten() -> None:
    assert set(routes()) - NO_SCREENS == set(SCREENS)


@pytest.mark.parametrize("path", PATHS)
def test_a_screen_has_no_fault(browser: Browser, board: Board, path: str) -> None:
    """In light, and in dark, where only the colours are others."""
    with opened(browser, board, color_scheme="light") as (page, wrong):
        answer = page.goto(path)
        assert answer
        assert answer.status == (MISSING if path in LOST else 200)
        assert page.locator("h1").count() == 1
        for scheme, options in (("light", None), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page, options=options)
            assert found.violations_count == 0, found.generate_report()
        assert [text for text in wrong if not (path in LOST and "404" in text)] == []


@pytest.mark.parametrize(
    ("path", "way"),
    [
        pytest.param(path, way, marks=pytest.mark.rotates(at + turn, len(WAYS)))
        for at, path in enumerate(PATHS)
        for turn, way in enumerate(WAYS)
    ],
)
def test_a_screen_fits(browser: Browser, board: Board, path: str, way: str) -> None:
    """Nothing is wider than the window, and what the page is about is there."""
    with opened(browser, board, **WAYS[way]) as (page, wrong):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
        assert len(page.locator("main").inner_text()) > 20
        assert [text for text in wrong if "404" not in text] == []
