"""Two people who have to agree: one with a token of its own, one behind a portal that acts for one user."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.conftest import Board, opened

FORGE = """
async ([path, actor]) => {
  const form = document.querySelector('button[formaction$=":approve"]').closest("form");
  const body = new URLSearchParams(new FormData(form));
  body.set("actor", actor);
  const answer = await fetch(path, {method: "POST", body});
  await answer.text();
  return answer.status;
}
"""


def test_each_answers_once_and_only_for_itself(board: Board, browser: Browser) -> None:
    changes = board.adeq.changes("two-people")
    changes.policies.set("two", required=2)
    changes.put("c", type="deploy", description="Deploy it", actor="mia")
    draft = changes.get("c")
    assert draft
    changes.submit(draft, policy="two", reviewers=["user:ben", "user:zoe"], actor="mia")
    at = "/changes/two-people/c"
    with opened(browser, board, "ben") as tab:
        tab.page.goto(at)
        assert tab.page.evaluate(FORGE, ["/do/v1/changes/two-people/changes/c:approve", "zoe"]) == 403
        tab.wrong.clear()  # the browser notes the refusal
        tab.page.get_by_role("button", name="Approve revision 1").click()
        expect(tab.page.get_by_text("Your answer: recorded.")).to_be_visible()
        expect(tab.page.get_by_role("button", name="Approve revision 1")).to_have_count(0)
        assert tab.wrong == []
    with opened(browser, board, "zoe") as tab:
        tab.page.goto(at)
        tab.page.get_by_role("button", name="Approve revision 1").click()
        expect(tab.page.get_by_text("Your answer: approved.")).to_be_visible()
        expect(tab.page.get_by_text("zoe (sent by portal)")).to_have_count(2)
        assert tab.wrong == []
    found = changes.get("c", requests=True)
    assert found
    assert [one.reviewed_by for one in found.requests or ()] == ["ben", "zoe"]
