"""Draw docs/assets/board/*.png: pages of the board on the scene, as the guide shows them.

.venv-web/bin/python -m tests.browser.pictures
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from pyadeq import Adeq, EmbeddedServer
from pyadeq.ext.operations.rights import all_rights
from pyadeq.ext.prove.demo.scene import CHANGE, fill
from pyadeq.ext.server.tokens import NAMESPACE, new_token
from tests.browser.conftest import launched, logged_in
from tests.serving import serving

FOLDER: Final = Path(__file__).parents[2] / "docs/assets/board"
SIZE: Final = {"width": 1100, "height": 520}
PICTURES: Final = {
    "overview": "/",
    "chart": "/queues/mail",
    "limited": "/queues/imports/tasks?state=blocked",
    "dead": "/queues/mail/dead",
    "locks": "/locks/repos",
    "change": f"/changes/infra/{CHANGE}",
}

FROM: Final = {"chart": "h2", "locks": "h2"}
"""Where some of them begin, below the top of the page."""
UNDER: Final = {"chart": ".at >> nth=14"}
"""What the pointer is at."""


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq, tempfile.TemporaryDirectory() as folder:
        fill(adeq)
        id, text, token = new_token("ann", sorted(all_rights()))
        adeq.config(NAMESPACE).set(id, token.encoded())
        with serving(Path(folder) / "log", "--url", server.url) as at, sync_playwright() as playwright:
            browser = launched(playwright)
            context = browser.new_context(
                base_url=at, viewport=SIZE, color_scheme="light", locale="en-GB", timezone_id="UTC"
            )
            cookies = logged_in(at, text).items()
            context.add_cookies([{"name": name, "value": value, "url": at} for name, value in cookies])
            page = context.new_page()
            for name, path in PICTURES.items():
                page.goto(path)
                if name in FROM:
                    page.locator(FROM[name]).first.evaluate("element => element.scrollIntoView()")
                if name in UNDER:
                    page.locator(UNDER[name]).hover()
                page.screenshot(path=FOLDER / f"{name}.png")
            browser.close()


if __name__ == "__main__":
    main()
