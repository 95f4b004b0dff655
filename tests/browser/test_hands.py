"""What people do: by keyboard alone, while rows change, and below a path of a proxy."""

from __future__ import annotations

from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.browser.conftest import Board, opened

HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => window.isHidden === true })"
READY = "[data-id=ready] b"
MOST_TABS = 200


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until an element has the focus."""
    expect(target).to_have_count(1)
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {target}")


def passing(page: Page, seconds: float) -> None:
    """Let the time of a page pass, whose clock is not the real one."""
    page.clock.run_for(seconds * 1000)


def test_by_keyboard_alone(browser: Browser, board: Board) -> None:
    """Log in, look for a queue, and pause it."""
    board.adeq.queue("keys").enqueue(1)
    with opened(browser, board, None) as (page, wrong):
        page.goto("/queues/keys")
        tab_to(page, page.get_by_label("Token"))
        page.keyboard.type(board.tokens["ann"])
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("keys")
        tab_to(page, page.locator(".actions").get_by_role("button", name="Pause"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_have_text("The queue is paused.")
        assert wrong == []
    assert board.adeq.queue("keys").stats().mode == "paused"


def test_a_group_of_dead_tasks_is_retried_by_keyboard(browser: Browser, board: Board) -> None:
    queue = board.adeq.queue("group")
    for number, reason in enumerate(["timeout", "timeout", "bad_address"]):
        queue.enqueue(1, id=f"{reason}-{number}", kind="mail")
        (lease,) = queue.claim(limit=1)
        queue.fail(lease, "", reason=reason, retryable=False)
    with opened(browser, board) as (page, wrong):
        page.goto("/queues/group/dead")
        tab_to(page, page.get_by_role("row", name="timeout").get_by_role("link", name="Retry…"))
        page.keyboard.press("Enter")
        tab_to(page, page.get_by_role("button", name="Retry 2"))
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("done")
        assert wrong == []
    assert [task.id for task in queue.iterate("dead")] == ["bad_address-2"]
    assert queue.stats().ready == 2


def test_a_chart_is_read_by_keyboard_and_pointer(browser: Browser, board: Board) -> None:
    """Also while it changes."""
    with opened(browser, board) as (page, wrong):
        page.goto("/queues/mail")
        chart = page.locator("[data-chart]")
        tab_to(page, chart)
        titles = chart.locator(".at title").all_text_contents()
        assert len(titles) > 20
        for key, at in (("ArrowLeft", -1), ("ArrowLeft", -2), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1)):
            page.keyboard.press(key)
            expect(chart.locator(".reading")).to_have_text(titles[at])
        with page.expect_response("**/queues/mail"):
            expect(chart.locator("[data-here]")).to_have_count(1)
        expect(chart.locator(".reading")).to_have_text(titles[1])
        chart.locator(".at").nth(5).hover()
        expect(chart.locator(".reading")).to_have_text(titles[5])
        expect(chart.locator("[data-here]")).to_have_count(1)
        assert wrong == []


def test_a_row_changes_under_the_eyes(browser: Browser, board: Board) -> None:
    """What has the focus keeps it, and what is selected stays so."""
    queue = board.adeq.queue("live")
    queue.enqueue(1)
    with opened(browser, board) as (page, wrong):
        page.clock.install()
        page.goto("/queues/live")
        expect(page.locator(READY)).to_have_text("1")
        page.locator(".actions button").first.focus()
        page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
        page.evaluate("window.kept = document.activeElement")
        queue.enqueue_many([1, 2])
        while page.locator(READY).inner_text() != "3":
            passing(page, 2)
        assert page.evaluate("document.activeElement === window.kept && window.kept.isConnected")
        assert page.evaluate("getSelection().toString()") == "live"
        assert wrong == []


def asks(page: Page, seconds: float) -> int:
    """How often a page asks within some seconds of its own time."""
    found = list[str]()

    def note(request: Request) -> None:
        found.append(request.url)

    page.on("request", note)
    passing(page, seconds)
    page.remove_listener("request", note)
    return len(found)


def test_a_page_asks_only_while_it_is_looked_at(browser: Browser, board: Board) -> None:
    with opened(browser, board) as (page, wrong):
        page.add_init_script(HIDDEN)
        page.clock.install()
        page.goto("/queues/mail")
        with page.expect_response("**/queues/mail"):
            passing(page, 3)
        pause = page.get_by_role("button", name="Pause", exact=True).first
        pause.click()
        assert asks(page, 60) == 0
        page.get_by_role("button", name="Go on").click()
        with page.expect_response("**/queues/mail"):
            passing(page, 30)
        page.evaluate("window.isHidden = true")
        assert asks(page, 60) == 0
        page.evaluate("window.isHidden = false")
        with page.expect_response("**/queues/mail"):
            passing(page, 30)
        assert wrong == []


def test_a_form_that_one_has_begun_is_sent_as_it_was_read(browser: Browser, board: Board) -> None:
    """Another operator changes the settings meanwhile, and the page shows it."""
    queue = board.adeq.queue("two")
    queue.enqueue(1)
    with opened(browser, board) as (page, wrong):
        page.clock.install()
        page.goto("/queues/two")
        page.get_by_text("Change settings…").click()
        page.get_by_label("Seconds of a lease").fill("33")
        queue.configure(lease=44)
        while "44" not in page.locator("dl.facts").inner_text():
            passing(page, 2)
        page.get_by_role("button", name="Change the settings").click()
        expect(page.locator("main")).to_contain_text("412")
        page.get_by_text("Back to the page, as it is now").click()
        page.get_by_text("Change settings…").click()
        expect(page.get_by_label("Seconds of a lease")).to_have_value("44.0")
        wrong[:] = [one for one in wrong if "412" not in one]
        assert wrong == []
    assert queue.settings().lease == 44
