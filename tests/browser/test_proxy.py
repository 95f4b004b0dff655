"""In a browser, below a path of a proxy: one that takes the path away, and one that does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from pyadeq import Adeq, EmbeddedServer
from tests.browser.conftest import Board, opened
from tests.serving import serving

ROOT = "/tasks"


@contextmanager
def proxied(at: str, strips: bool) -> Iterator[str]:
    """The address of a proxy that shows a service below a path."""
    place = urlsplit(at).netloc

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            inner = self.path.removeprefix(ROOT) if strips else self.path
            if not self.path.startswith(f"{ROOT}/"):
                self.send_error(502, "no path of the service")
                return
            connection = HTTPConnection(place)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection.request(self.command, inner, body, dict(self.headers))
            answer = connection.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() != "transfer-encoding":
                    self.send_header(name, value)
            text = answer.read()
            connection.close()
            with suppress(ConnectionError):  # a browser that leaves a page breaks off what the page has asked for
                self.end_headers()
                self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("strips", [True, False])
def test_below_a_path_of_a_proxy(
    browser: Browser,
    installation: tuple[EmbeddedServer, Adeq, dict[str, str]],
    tmp_path: Path,
    strips: bool,
) -> None:
    server, adeq, texts = installation
    adeq.queue("below").enqueue(1)
    adeq.queue("below").admin.resume()
    with (
        serving(tmp_path / "log", "--url", server.url, "--root-path", ROOT) as at,
        proxied(at, strips) as outside,
        opened(browser, Board(outside, texts, adeq, {}), None) as (page, wrong),
    ):
        page.goto(f"{ROOT}/queues/below")
        page.get_by_label("Token").fill(texts["ann"])
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("h1")).to_have_text("below")
        page.locator(".actions").get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status")).to_have_text("The queue is paused.")
        page.get_by_role("link", name="Queues").first.click()
        expect(page.locator("h1")).to_have_text("Queues")
        page.get_by_role("button", name="Log out").click()
        expect(page.locator("h1")).to_have_text("Log in")
        assert urlsplit(page.url).path == f"{ROOT}/login"
        assert wrong == []
    assert adeq.queue("below").stats().mode == "paused"
