"""The log of a change and the events of its domain: each step, who took it, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    answer,
    applying,
    assess,
    delegate,
    draft,
    finish,
    in_review,
    move,
    policy,
    revised,
    submit,
    submitted,
    watched,
)
from tests.nouns.script_bench import MakeAny, pairs

Line = tuple[str, str, str, str]


def log(bench: NounBench) -> list[Line]:
    """Event, revision and round, by, detail; and the reason, if there is one."""
    found = []
    for _, flat in bench.ask("XRANGE", ":log:c", "-", "+"):
        one = {name: value.decode() for name, value in pairs(flat).items()}
        reason = f" ({one['reason']})" if one["reason"] else ""
        proof = f" [{one['proof']}]" if one["proof"] else ""
        found.append((one["event"], f"{one['rev']}/{one['round']}", one["by"], one["detail"] + reason + proof))
    return found


def events(bench: NounBench) -> list[Any]:
    """The same, as events have it."""
    own = [one for one in bench.events() if one["event"].startswith(b"change.")]
    return [(one["event"].decode(), one.get("payload", b"").decode()) for one in own]


def test_the_life_of_a_change(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = draft(bench)
    assess(bench, one, 80)
    assess(bench, one, None, preview="+1")
    one = revised(bench, one)
    bench.put("put", id="c", expect_rev=2, actor="ann", change_type="deploy", description="Version 3", team="t")
    bench.put("set_policies", item=[{"name": "p", "required": 2}])
    bench.put("submit", id="c", rev=2, actor="ann", policy="p", item=["user:bob", "user:eve"])
    answer(bench, one, "zoe", "comment", reason="why?", proof="sso")
    answer(bench, one, "bob", "request_changes", reason="not on Friday", proof="sso")
    delegate(bench, "eve", "dan", reason="on leave")
    bench.put("reassign", id="c", operation="dismiss", slot=1, actor="olga", reason="on leave")
    bench.put("reassign", id="c", operation="move", slot=1, reviewer="user:kim", actor="olga", reason="away")
    answer(bench, one, "kim")
    answer(bench, one, "dan", reason="fine")
    bench.put("begin", rid="run", agent="bot", **one)
    finish(bench, one, "failure", "run", retry=True)
    answer(bench, one, "kim", "retract", reason="wait")
    move(bench, one, "withdraw", reason="later")
    move(bench, one, "cancel", reason="never")
    wanted = [
        ("change.created", "1/0", "ann", ""),
        ("change.assessed", "1/0", "meter", "score=80 level=critical"),
        ("change.assessed", "1/0", "meter", ""),
        ("change.revised", "2/0", "ann", "changed=description"),
        ("change.edited", "2/0", "ann", ""),
        ("change.submitted", "2/1", "ann", "policy=p@1"),
        ("change.reviewing", "2/1", "ann", ""),
        ("change.commented", "2/1", "zoe", " (why?) [sso]"),
        ("change.answered", "2/1", "bob", "slot=1 action=request_changes for=bob (not on Friday) [sso]"),
        ("change.changes_requested", "2/1", "bob", "slot=1 (not on Friday) [sso]"),
        ("change.delegated", "2/1", "eve", "slot=2 from=user:eve to=user:dan (on leave)"),
        ("change.reassigned", "2/1", "olga", "slot=1 operation=dismiss (on leave)"),
        ("change.reassigned", "2/1", "olga", "slot=1 operation=move to=user:kim (away)"),
        ("change.answered", "2/1", "kim", "slot=1 action=approve for=kim"),
        ("change.answered", "2/1", "dan", "slot=2 action=approve for=dan (fine)"),
        ("change.approved", "2/1", "dan", ""),
        ("change.applying", "2/1", "bot", "fence=1"),
        ("change.released", "2/1", "bot", "why=failure"),
        ("change.answered", "2/1", "kim", "slot=1 action=retract for=kim (wait)"),
        ("change.outdated", "2/2", "kim", "why=retracted"),
        ("change.reviewing", "2/2", "kim", ""),
        ("change.withdrawn", "2/2", "ann", " (later)"),
        ("change.cancelled", "2/2", "ann", " (never)"),
    ]
    assert log(bench) == wanted
    words = [(event, f"rev={place[0]} round={place[2]} by={by}", detail) for event, place, by, detail in wanted]
    told = [(event, f"{start} {detail.split(' (')[0].split(' [')[0]}".rstrip()) for event, start, detail in words]
    assert events(bench) == told


def test_what_time_and_emergencies_do(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    fields: dict[str, Any] = {
        "remind": 60,
        "escalate": 120,
        "escalate_to": ["user:eve"],
        "timeout": 300,
        "approval": 60,
        "max_attempts": 1,
    }
    one = in_review(bench, **fields)
    start = len(log(bench))
    for pause in (60_000, 60_000, 300_000):
        bench.pass_time(pause)
        bench.put("sweep")
    move(bench, one, "reopen", reason="once more")
    bench.put("submit", id="c", rev=1, actor="ann", policy="p", item=["user:bob"])
    bench.put("override", **one, actor="olga", reason="the shop is down", proof="sso")
    bench.put("begin", rid="run", agent="bot", **one)
    move(bench, one, "cancel", reason="stop")
    bench.pass_time(30_000)
    bench.put("sweep")
    assert log(bench)[start:] == [
        ("change.reminded", "1/1", "time", ""),
        ("change.escalated", "1/1", "time", "slot=2 to=user:eve"),
        ("change.reminded", "1/1", "time", ""),
        ("change.rejected", "1/1", "time", "why=timeout"),
        ("change.reopened", "1/1", "ann", " (once more)"),
        ("change.submitted", "1/2", "ann", "policy=p@1"),
        ("change.reviewing", "1/2", "ann", ""),
        ("change.overridden", "1/2", "olga", "for=olga (the shop is down) [sso]"),
        ("change.approved", "1/2", "override:olga", " (the shop is down) [sso]"),
        ("change.applying", "1/2", "bot", "fence=1"),
        ("change.cancelling", "1/2", "ann", " (stop)"),
        ("change.cancelled", "1/2", "time", "why=lost"),
    ]


def test_an_approval_that_is_over_and_a_run_that_fails(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = applying(bench, approval=60, max_attempts=1)
    start = len(log(bench))
    finish(bench, one, "released")
    bench.pass_time(60_000)
    bench.put("sweep")
    answer(bench, one, "bob")
    bench.put("begin", rid="again", agent="bot", **one)
    bench.pass_time(30_000)
    bench.put("sweep")
    assert log(bench)[start:] == [
        ("change.released", "1/1", "bot", "why=released"),
        ("change.outdated", "1/2", "time", "why=approval_ended"),
        ("change.reviewing", "1/2", "time", ""),
        ("change.answered", "1/2", "bob", "slot=1 action=approve for=bob"),
        ("change.approved", "1/2", "bob", ""),
        ("change.applying", "1/2", "bot", "fence=2"),
        ("change.failed", "1/2", "time", "why=lost"),
    ]


def test_a_change_that_waits_for_its_risk_again_is_not_escalated(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    policy(bench, needs="risk", escalate=120, escalate_to=["user:eve"], timeout=300, approval=60)
    one = draft(bench)
    assess(bench, one, 10)
    submit(bench, one, "user:bob")
    answer(bench, one, "bob")
    start = len(log(bench))
    for pause in (60_000, 300_000):
        bench.pass_time(pause)
        bench.put("sweep")
    assert log(bench)[start:] == [
        ("change.outdated", "1/2", "time", "why=approval_ended"),
        ("change.rejected", "1/2", "time", "why=timeout"),
    ]


def test_an_escalation_before_the_first_reminder(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    in_review(bench, remind=200, escalate=120, escalate_to=["user:eve"])
    bench.pass_time(120_000)
    assert bench.put("sweep").taken == 1
    assert bench.ask("ZCARD", ":inbox:user:eve") == 1


CALLS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("put", {"expect_rev": 1, "actor": "ann", "change_type": "x", "description": "y"}, ["revised"]),
    ("submit", {"rev": 1, "actor": "ann", "policy": "p", "item": ["user:bob"]}, ["submitted", "reviewing"]),
    ("assess", {"actor": "meter", "score": 1}, ["assessed"]),
    ("respond", {"actor": "bob", "action": "approve"}, ["answered", "approved"]),
    ("respond", {"actor": "bob", "action": "request_changes"}, ["answered", "changes_requested"]),
    ("respond", {"actor": "bob", "action": "retract"}, ["answered", "outdated", "reviewing"]),
    ("respond", {"actor": "bob", "action": "comment", "reason": "why?"}, ["commented"]),
    ("delegate", {"actor": "bob", "to": "eve"}, ["delegated"]),
    ("reassign", {"actor": "olga", "operation": "add", "reviewer": "user:eve", "reason": "r"}, ["reassigned"]),
    ("override", {"actor": "olga", "reason": "r"}, ["overridden", "approved"]),
    ("move", {"actor": "ann", "to": "withdraw"}, ["withdrawn"]),
    ("move", {"actor": "ann", "to": "cancel"}, ["cancelled"]),
]


@pytest.mark.parametrize(("verb", "fields", "steps"), CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_each_step_of_an_actor_says_who_has_sent_its_call(
    make_any: MakeAny, verb: str, fields: dict[str, Any], steps: list[str]
) -> None:
    bench = watched(make_any("change"))
    policy(bench)
    one = draft(bench) if verb in ("put", "submit", "assess") else in_review(bench)
    if fields.get("action") == "retract":
        answer(bench, one, "bob")
    start = len(log(bench)), len(events(bench))
    given = {"id": "c", **fields}
    if verb == "respond":
        given = {"actor": given.pop("actor"), "item": [{**one, **given}]}
    elif verb in ("assess", "override"):
        given |= one
    bench.put(verb, caller="slackbot", **given)
    found = log(bench)[start[0] :]
    assert [event for event, *_ in found] == [f"change.{step}" for step in steps]
    assert {by.removeprefix("override:") for _, _, by, _ in found} == {fields["actor"]}
    assert callers(bench)[start[0] :] == ["slackbot"] * len(steps)
    for _, payload in events(bench)[start[1] :]:
        assert payload.split(" ")[3] == "caller=slackbot"


def callers(bench: NounBench, id: str = "c") -> list[str]:
    return [pairs(flat)["caller"].decode() for _, flat in bench.ask("XRANGE", f":log:{id}", "-", "+")]


def test_what_time_policies_and_delegations_do_has_no_caller(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    bench.put("configure", settings={"auto_approve_low_risk": True})
    in_review(bench, "c2", timeout=60)
    bench.put("set_delegations", user="bob", caller="web", item=[{"name": "d", "to": "eve"}])
    submitted(bench, auto_below=20)
    bench.pass_time(60_000)
    one = {name: bench.put("get", item=["c"]).items[0].change[name] for name in ("rev", "digest")}
    bench.put("assess", id="c", **one, actor="meter", caller="ci", score=1, auto_approvable=True)
    assert [(by, who) for (_, _, by, _), who in zip(log(bench), callers(bench), strict=True)] == [
        ("ann", ""),
        ("ann", ""),
        ("delegation", ""),
        ("meter", "ci"),
        ("policy:p@2", ""),
    ]
    assert set(callers(bench, "c2")) == {""}
    assert [payload for event, payload in events(bench) if event == "change.rejected"] == [
        "rev=1 round=1 by=time why=timeout"
    ]


def test_policies_and_delegations_say_who_has_sent_the_call(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    policies: list[Any] = [[{"name": "p", "required": 1}], [{"name": "p", "remove": True}]]
    delegations: list[Any] = [[{"name": "d", "to": "eve"}], [{"name": "d", "remove": True}]]
    for by in ({"actor": "olga", "caller": "web"}, {"caller": "web"}, {"actor": "olga"}, {}):
        for item in policies:
            bench.put("set_policies", item=item, **by)
        for item in delegations:
            bench.put("set_delegations", user="bob", item=item, **by)
    told = [one.get("payload", b"").decode() for one in bench.events()]
    assert told == [
        *("version=1 by=olga caller=web", "by=olga caller=web"),
        *("user=bob to=eve by=olga caller=web", "user=bob by=olga caller=web"),
        *("version=2 caller=web", "caller=web", "user=bob to=eve caller=web", "user=bob caller=web"),
        *("version=3 by=olga", "by=olga", "user=bob to=eve by=olga", "user=bob by=olga"),
        *("version=4", "", "user=bob to=eve", "user=bob"),
    ]
