"""Changes as their users see them: written, reviewed, read, and what is refused."""

import random
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import pytest

from pyadeq import Change, ChangeAnswer, ChangeRef, FollowTask, Result
from pyadeq.asyncio import Adeq, Changes
from pyadeq.errors import BadArgument, ConfigError
from tests.integration.conftest import Clock

CONTENT: dict[str, Any] = {
    "type": "deploy",
    "version": "1.2",
    "description": "roll out the new index",
    "parameters": {"replicas": 3},
    "resources": ["service:search", "database:orders"],
    "rollback_strategy": "manual",
    "timeout": 600,
    "priority": 70,
}
AGENT: dict[str, Any] = {"actor": "bot-7", "principal": "eve", "kind": "agent"}


@pytest.fixture
async def timed_changes(url: str, base_name: str, clock: Clock) -> AsyncIterator[Changes]:
    """Changes whose time is the test's."""
    async with Adeq.from_url(url, clock=clock) as adeq:
        changes = adeq.changes(base_name[-64:])
        await changes.configure(clock="test")
        yield changes


async def read(changes: Changes, id: str = "c1", **options: Any) -> Change:
    found = await changes.get(id, **options)
    assert found
    return found


async def in_review(changes: Changes, *reviewers: str, id: str = "c1", required: int = 1, **policy: Any) -> Result:
    """A change that these people are asked to review, as its author has put it."""
    await changes.policies.set("review", required=required, **policy)
    put = await changes.put(id, **CONTENT, actor="ann")
    asked = reviewers or ("user:bob", "user:cleo", "group:ops")
    assert (await changes.submit(put, policy="review", reviewers=asked, actor="ann")).status == "reviewing"
    return put


# Authors


async def test_a_change_is_created_revised_edited_and_read(changes: Changes) -> None:
    put = await changes.put("c1", **CONTENT, team="search", tags=["index", "q3"], author_name="Ann", actor="ann")
    assert (put.status, put.id, put.state, put.rev, put.round) == ("created", "c1", "draft", 1, 0)
    change = await read(changes)
    assert (change.type, change.version, change.description) == ("deploy", "1.2", "roll out the new index")
    assert (change.parameters, change.data) == ({"replicas": 3}, b'{"replicas":3}')
    assert change.resources == ("database:orders", "service:search")  # in byte order
    assert (change.rollback_strategy, change.timeout, change.priority) == ("manual", 600.0, 70)
    assert (change.author, change.principal, change.author_name, change.team) == ("ann", "ann", "Ann", "search")
    assert (change.tags, change.ticket_ref, change.digest) == (("index", "q3"), "", put.digest)
    assert (change.risk, change.run, change.requests, change.log, change.policy) == (None, None, None, None, None)
    assert (change.votes.required, change.votes.reached) == (None, False)

    assert (await changes.revise(change, actor="ann", ticket_ref="T-1")).status == "edited"
    assert (await changes.revise(change, actor="ann", ticket_ref="T-1")).status == "unchanged"
    revised = await changes.revise(change, actor="zoe", description="roll it out twice")
    assert (revised.status, revised.rev) == ("revised", 2)
    again = await read(changes)
    assert (again.description, again.parameters, again.ticket_ref) == ("roll it out twice", {"replicas": 3}, "")
    assert again.digest != change.digest
    assert (await changes.revise(change, actor="ann")).status == "outdated"
    assert (await changes.put("c1", **CONTENT, actor="ann")).status == "exists"


async def test_an_id_is_made_if_none_is_given(changes: Changes) -> None:
    put = await changes.put(type="deploy", description="the first", actor="ann")
    assert len(put.id) == 26
    change = await read(changes, put.id)
    assert (change.data, change.parameters, change.resources) == (b"", None, ())


async def test_digests_can_be_verified(changes: Changes) -> None:
    await changes.put("c1", **CONTENT, actor="ann")
    change = await read(changes)
    parts = ["deploy", "1.2", "roll out the new index", '{"replicas":3}', "database:orders", "service:search"]
    whole = "".join(f"{len(part)}:{part}," for part in [*parts, "manual", "600000", "70"])
    assert change.sha256 == sha256(whole.encode()).hexdigest()
    assert change.intact
    await changes.put("c2", type="t", description="größer", parameters=b"\xff\x00", priority=0, actor="ann")
    assert (await read(changes, "c2")).intact


async def test_earlier_revisions_can_be_read(changes: Changes) -> None:
    await changes.put("c1", **CONTENT, actor="ann")
    first = await read(changes)
    await changes.revise(first, description="größer", resources=(), parameters=b"\xff\x00", actor="ann")
    for seen in (first, await read(changes)):
        kept = await changes.get_revision("c1", seen.rev)
        assert kept is not None
        fields = type(kept).model_fields
        assert {name: getattr(kept, name) for name in fields} == {name: getattr(seen, name) for name in fields}
    assert await changes.get_revision("c1", 3) is None
    assert await changes.get_revision("nosuch", 1) is None


async def test_what_was_damaged_is_seen(changes: Changes, adeq: Adeq) -> None:
    await changes.put("c1", **CONTENT, actor="ann")
    await adeq.client.set(f"{changes.base}:params:c1", b'{"replicas":30}')
    assert not (await read(changes)).intact


async def test_a_change_is_withdrawn_reopened_and_cancelled(changes: Changes) -> None:
    await in_review(changes)
    assert (await changes.withdraw("c1", actor="bob")).status == "forbidden"
    assert (await changes.withdraw("c1", actor="ann", reason="a mistake")).status == "draft"
    change = await read(changes)
    assert (await changes.submit(change, policy="review", reviewers=["user:bob"], actor="ann")).status == "reviewing"
    assert (await changes.reject(change, actor="bob", reason="no")).status == "rejected"
    assert (await read(changes)).why == "rejections"
    assert (await changes.reopen("c1", actor="ann")).status == "draft"
    assert (await changes.cancel("c1", actor="ann")).status == "cancelled"
    assert (await changes.cancel("c1", actor="ann")).status == "state"
    assert (await changes.cancel("c2", actor="ann")).status == "not_found"


# Reviewers


async def test_enough_approvals_approve(changes: Changes) -> None:
    put = await in_review(changes, required=2)
    change = await read(changes, requests=True)
    assert (change.state, change.policy, change.round) == ("reviewing", "review@1", 1)
    assert change.requests
    assert [(one.slot, one.reviewer, one.status) for one in change.requests] == [
        (1, "user:bob", "pending"),
        (2, "user:cleo", "pending"),
        (3, "group:ops", "pending"),
    ]
    assert change.review_until == change.requests[0].due
    assert (await changes.approve(change, actor="bob", reason="fine")).status == "recorded"
    assert (await changes.approve(put, actor="bob")).status == "same"
    votes = (await read(changes)).votes
    assert (votes.required, votes.approved, votes.pending, votes.reached) == (2, 1, 2, False)
    seen = ChangeRef("c1", change.rev, change.digest)
    answer = await changes.approve(seen, actor="dan", groups=["ops", "dev"], proof="sso 17")
    assert (answer.status, answer.state) == ("approved", "approved")
    change = await read(changes, requests=True, log=100)
    assert (change.state, change.decided_by, change.votes.reached) == ("approved", "dan", True)
    assert change.approved is not None
    assert change.approved_until == change.approved + 604800
    assert change.requests
    assert [(one.status, one.action, one.reason, one.reviewed_by, one.principal) for one in change.requests] == [
        ("approved", "approve", "fine", "bob", "bob"),
        ("cancelled", None, "", None, None),
        ("approved", "approve", "", "dan", "dan"),
    ]
    assert change.log
    assert [entry.event for entry in change.log][-3:] == ["change.answered", "change.answered", "change.approved"]
    assert [entry.proof for entry in change.log][-2:] == ["sso 17", "sso 17"]
    closed = await changes.reject(seen, actor="cleo")
    assert (closed.status, closed.state, closed.by) == ("closed", "approved", "dan")


async def test_who_may_not_answer(changes: Changes) -> None:
    put = await in_review(changes, "user:bob", "user:cleo", "group:ops")
    for who, reason in (
        ({"actor": "ann", "groups": ["ops"]}, "contributor"),
        ({"actor": "dan"}, "not_reviewer"),
        ({"actor": "bot-8", "principal": "bob", "groups": ["ops"]}, "agent"),
    ):
        answer = await changes.approve(put, **who)
        assert (answer.status, answer.reason) == ("not_eligible", reason)


async def test_changes_are_requested_until_the_same_person_answers_again(changes: Changes) -> None:
    put = await in_review(changes)
    assert (await changes.request_changes(put, actor="bob", reason="smaller, please")).status == "recorded"
    assert (await changes.approve(put, actor="cleo")).status == "recorded"
    revised = await changes.revise(await read(changes), description="a smaller one", actor="ann")
    assert (revised.status, revised.round) == ("revised", 2)
    stale = await changes.approve(put, actor="bob")
    assert (stale.status, stale.rev, stale.digest) == ("outdated", 2, revised.digest)
    assert (await changes.approve(revised, actor="bob")).status == "approved"
    assert (await changes.retract(revised, actor="bob")).state == "reviewing"
    assert (await changes.abstain(revised, actor="cleo")).status == "recorded"
    assert (await changes.comment(revised, "who is next?", actor="anybody")).status == "commented"


async def test_many_answers_in_one_call(changes: Changes) -> None:
    puts = [await in_review(changes, "user:bob", id=f"c{number}") for number in range(3)]
    answers = [
        ChangeAnswer(id="c0", rev=1, digest=puts[0].digest, action="approve"),
        ChangeAnswer(id="c1", rev=1, digest=puts[0].digest, action="reject", reason="too risky", slot=1),
        ChangeAnswer(id="gone", rev=1, digest=puts[0].digest, action="approve"),
    ]
    assert [one.status for one in await changes.respond(answers, actor="bob")] == ["approved", "rejected", "not_found"]
    await changes.configure(batch_approvals=False)
    with pytest.raises(BadArgument, match="batch_approvals is off"):
        await changes.respond(answers, actor="bob")


async def test_an_inbox_has_what_its_user_can_answer_now(changes: Changes) -> None:
    for number in range(5):
        put = await in_review(changes, "user:bob", "group:ops", id=f"c{number}")
        assert (await changes.assess(put, score=number * 10, actor="riskbot", principal="rita")).status == "ok"
    page = await changes.inbox("bob", limit=2)
    assert [(one.id, one.slot, one.risk_score, one.risk_level) for one in page.entries] == [
        ("c4", 1, 40, "medium"),
        ("c3", 1, 30, "medium"),
    ]
    assert (page.pending, page.stats.answers, page.stats.last) == (5, 0, None)
    page = await changes.inbox("bob", limit=2, cursor=page.cursor)
    assert [one.id for one in page.entries] == ["c2", "c1"]
    assert [one.id async for one in changes.iterate_inbox("ann", groups=["ops"])] == []  # a contributor
    entries = [one async for one in changes.iterate_inbox("dan", groups=["ops"])]
    assert [one.id for one in entries] == ["c4", "c3", "c2", "c1", "c0"]
    assert (entries[0].type, entries[0].description, entries[0].author) == ("deploy", CONTENT["description"], "ann")
    assert (await changes.approve(entries[0], actor="dan", groups=["ops"])).status == "approved"
    assert (await changes.reject(entries[1], actor="dan", groups=["ops"])).status == "rejected"
    assert [one.id async for one in changes.iterate_inbox("bob")] == ["c2", "c1", "c0"]
    stats = (await changes.inbox("dan")).stats
    assert (sum(stats.approved.values()), sum(stats.rejected.values()), stats.answers) == (1, 1, 2)
    assert sum(stats.took_up_to.values()) == 2
    assert stats.last is not None


async def test_a_request_is_delegated_and_taken_back(changes: Changes) -> None:
    put = await in_review(changes, "user:bob")
    answer = await changes.delegate("c1", "dan", actor="bob", reason="on holiday")
    assert (answer.status, answer.slot, answer.reviewer) == ("ok", 1, "user:dan")
    assert (await changes.approve(put, actor="bob")).status == "not_eligible"
    (request,) = (await read(changes, requests=True)).requests or ()
    assert (request.reviewer, request.assignee, request.delegation_chain) == ("user:bob", "user:dan", ("bob",))
    assert (await changes.delegate("c1", "bob", actor="dan")).status == "cycle"
    assert [one.id async for one in changes.iterate_inbox("dan")] == ["c1"]
    assert (await changes.take_back("c1", actor="bob")).reviewer == "user:bob"
    assert [one.id async for one in changes.iterate_inbox("dan")] == []
    assert (await changes.approve(put, actor="bob")).status == "approved"


async def test_requests_follow_a_delegation_while_it_lasts(timed_changes: Changes, clock: Clock) -> None:
    changes = timed_changes
    now = clock.now_ms / 1000
    await in_review(changes, "user:bob")
    stored = await changes.delegations.set("bob", "holiday", to="dan", start=now, until=now + 60, actor="bob")
    assert stored.status == "stored"
    found = await changes.delegations.list("bob")
    (delegation,) = found.delegations
    assert (delegation.name, delegation.to, delegation.start, delegation.until) == ("holiday", "dan", now, now + 60)
    assert (delegation.types, delegation.risk_above, delegation.active, found.away) == ((), None, True, 1)
    await in_review(changes, "user:bob", id="c2")
    assert {one.id async for one in changes.iterate_inbox("dan")} == {"c1", "c2"}
    assert (await changes.delegations.set("dan", "back", to="bob")).status == "cycle"
    clock.tick(61)
    await changes.sweep()
    assert {one.id async for one in changes.iterate_inbox("bob")} == {"c1", "c2"}
    assert (await changes.delegations.remove("bob", "holiday")).status == "removed"
    assert (await changes.delegations.remove("bob", "holiday")).status == "unknown"
    fields: dict[str, Any] = {"types": ["deploy"], "tags": ["a"], "resources": ["database:orders"], "risk_above": 50}
    await changes.delegations.set("bob", "some", to="dan", **fields, risk_below=80, cascade=True, active=False)
    (delegation,) = (await changes.delegations.list("bob")).delegations
    assert delegation.model_dump(exclude={"start", "until", "name", "to"}) == {
        "types": ("deploy",),
        "tags": ("a",),
        "resources": ("database:orders",),
        "risk_above": 50,
        "risk_below": 80,
        "cascade": True,
        "active": False,
        "principal": None,
    }
    assert [one.id async for one in changes.iterate_inbox("dan")] == []


async def test_the_person_behind_an_agent_is_behind_what_the_agent_has_delegated(changes: Changes) -> None:
    await changes.policies.set("two", required=2, agents_may_vote=True)
    seen = await changes.put("c1", type="deploy", description="d", actor="ann")
    await changes.submit(seen, policy="two", reviewers=["user:bot", "user:rita"], actor="ann")
    await changes.delegations.set("bot", "d", to="dan", actor="bot", principal="rita")
    (delegation,) = (await changes.delegations.list("bot")).delegations
    assert (delegation.to, delegation.principal) == ("dan", "rita")
    assert (await changes.approve(seen, actor="dan")).status == "recorded"
    answer = await changes.approve(seen, actor="rita")
    assert (answer.status, answer.reason) == ("not_eligible", "answered")
    with pytest.raises(BadArgument, match="principal"):
        await changes.delegations.set("bot", "d", to="dan", actor="bot", kind="agent")
    assert (await changes.delegations.remove("bot", "d", actor="bot", principal="rita")).status == "removed"


async def test_a_delegate_answers_only_while_the_delegation_holds(timed_changes: Changes, clock: Clock) -> None:
    """Without any sweep: by its time, and by what the change is now."""
    changes, now = timed_changes, clock.now_ms / 1000
    await changes.policies.set("one", required=1)
    for name, more in ("now", {"until": now + 60}), ("dev", {"resources": ["db:dev"], "start": now + 120}):
        await changes.delegations.set("bob", name, to="eve", actor="bob", **more)
    seen = await changes.put("c1", type="deploy", description="d", resources=["db:dev"], actor="ann")
    await changes.submit(seen, policy="one", reviewers=["user:bob"], actor="ann")
    for pause, owner in (0, "eve"), (60, "bob"), (60, "eve"):
        clock.tick(pause)
        for name in "bob", "eve":
            assert [one.id for one in (await changes.inbox(name)).entries] == ["c1"] * (name == owner)
    before = await changes.get("c1")
    assert before
    revised = await changes.revise(before, resources=["db:prod"], actor="ann")
    assert (await changes.inbox("eve")).entries == []
    answer = await changes.approve(revised, actor="eve")
    assert (answer.status, answer.reason) == ("not_eligible", "not_reviewer")
    assert (await changes.approve(revised, actor="bob")).status == "approved"


async def test_an_operator_changes_requests_and_overrides(changes: Changes) -> None:
    put = await in_review(changes, "user:bob", "user:cleo", required=2)
    operator: dict[str, Any] = {"actor": "root", "reason": "bob has left"}
    assert (await changes.remove_request("c1", 1, **operator)).status == "unreachable"
    assert (await changes.move_request("c1", 1, "user:dan", **operator)).status == "ok"
    added = await changes.add_request("c1", "group:ops", name="the operators", **operator)
    assert (added.status, added.slot) == ("ok", 3)
    assert (await changes.request_changes(put, actor="cleo")).status == "recorded"
    assert (await changes.dismiss_answer("c1", 2, **operator)).status == "ok"
    requests = (await read(changes, requests=True)).requests or ()
    assert [(one.reviewer, one.reviewer_name, one.status) for one in requests] == [
        ("user:dan", "", "pending"),
        ("user:cleo", "", "pending"),
        ("group:ops", "the operators", "pending"),
    ]
    with pytest.raises(BadArgument, match="reason"):
        await changes.override(put, actor="root", reason="")
    mine: list[dict[str, Any]] = [{"actor": "ann"}, {"actor": "bot-7", "principal": "ann"}]
    for who in mine:
        refused = await changes.override(put, reason="it is mine", **who)
        assert (refused.status, refused.reason) == ("not_eligible", "contributor")
    assert (await changes.override(put, actor="root", reason="the site is down")).status == "approved"
    change = await read(changes)
    assert (change.decided_by, change.overridden_rev, change.overridden_by) == ("override:root", 1, "root")


async def test_the_log_says_who_has_sent_a_call_for_its_actor(changes: Changes, adeq: Adeq) -> None:
    by: dict[str, Any] = {"caller": "slackbot"}
    await changes.policies.set("review", required=2, actor="root", **by)
    put = await changes.put("c1", **CONTENT, actor="ann", **by)
    put = await changes.revise(await read(changes), description="another", actor="ann", **by)
    await changes.submit(put, policy="review", reviewers=["user:bob", "user:cleo"], actor="ann", **by)
    await changes.assess(put, score=5, actor="meter", **by)
    await changes.approve(put, actor="bob", **by)
    await changes.comment(put, "why?", actor="dan")
    await changes.delegate("c1", "dan", actor="cleo", **by)
    await changes.take_back("c1", actor="cleo", **by)
    operator: dict[str, Any] = {"actor": "root", "reason": "bob has left", **by}
    await changes.add_request("c1", "user:eve", **operator)
    await changes.move_request("c1", 3, "user:fay", **operator)
    await changes.remove_request("c1", 3, **operator)
    await changes.dismiss_answer("c1", 1, **operator)
    await changes.withdraw("c1", actor="ann", **by)
    await changes.submit(put, policy="review", reviewers=["user:bob", "user:cleo"], actor="ann", **by)
    await changes.override(put, reason="fire", actor="root", **by)
    log = (await read(changes, log=100)).log or ()
    assert {entry.caller for entry in log if entry.event != "change.commented"} == {"slackbot"}
    assert [entry.caller for entry in log if entry.event == "change.commented"] == [None]
    await changes.delegations.set("bob", "d", to="eve", actor="bob", **by)
    await changes.delegations.remove("bob", "d", actor="bob", **by)
    await changes.policies.remove("review", actor="root", **by)
    events: Any = await adeq.client.xrange(f"{changes.base}:events")
    payloads = [fields.get(b"payload", b"") for _, fields in events]
    assert [one for one in payloads if not one.startswith(b"rev=")] == [
        b"version=1 by=root caller=slackbot",
        b"user=bob to=eve by=bob caller=slackbot",
        b"user=bob by=bob caller=slackbot",
        b"by=root caller=slackbot",
    ]


# Assessors and policies


async def test_a_policy_may_need_a_risk_and_approve_a_low_one(changes: Changes) -> None:
    await changes.configure(auto_approve_low_risk=True)
    stored = await changes.policies.set(
        "auto", required=1, needs="both", auto_below=20, deny_tags=["prod"], actor="root"
    )
    assert (stored.status, stored.version) == ("stored", 1)
    put = await changes.put("c1", **CONTENT, actor="ann")
    assert (await changes.submit(put, policy="auto", reviewers=["user:bob"], actor="ann")).status == "submitted"
    assert (await changes.assess(put, score=1, actor="ann")).reason == "contributor"
    answer = await changes.assess(put, score=10, factors={"size": 2}, auto_approvable=True, assessed_by="r2", actor="r")
    assert (answer.status, answer.state, answer.level) == ("ok", "submitted", "low")
    answer = await changes.assess(put, preview="+1 -1", actor="r")
    assert (answer.status, answer.state) == ("ok", "approved")
    change = await read(changes, texts=True)
    assert change.risk
    assert (change.risk.score, change.risk.level, change.risk.factors) == (10, "low", '{"size":2}')
    assert (change.risk.auto_approvable, change.risk.assessed_by, change.risk.rev) == (True, "r2", 1)
    assert (change.preview, change.preview_rev, change.decided_by) == (b"+1 -1", 1, "policy:auto@1")
    assert (await read(changes)).preview is None


async def test_policies_are_stored_read_and_removed(changes: Changes) -> None:
    assert await changes.policies.list() == {}
    await changes.policies.set(
        "a", required=2, reviewers=["group:ops"], escalate=60, escalate_to=["user:boss"], remind=5
    )
    assert (await changes.policies.set("b", required=1)).version == 2
    assert (await changes.policies.set("b", required=1)).status == "same"
    found = await changes.policies.list()
    assert list(found) == ["a", "b"]
    policy = found["a"]
    assert (policy.name, policy.version, policy.required, policy.rejections) == ("a", 1, 2, 1)
    assert (policy.reviewers, policy.escalate, policy.escalate_to, policy.remind) == (
        ("group:ops",),
        60.0,
        ("user:boss",),
        5.0,
    )
    assert (await changes.policies.remove("a")).status == "removed"
    assert (await changes.policies.remove("a")).status == "unknown"
    assert list(await changes.policies.list(["a", "b"])) == ["b"]
    put = await changes.put("c1", **CONTENT, actor="ann")
    assert (await changes.submit(put, policy="a", actor="ann")).status == "no_policy"
    unreachable = await changes.submit(put, policy="b", reviewers=["user:ann"], actor="ann")
    assert (unreachable.status, unreachable.required, unreachable.eligible) == ("unreachable", 1, 0)


async def test_a_policy_that_was_read_is_stored_unchanged(changes: Changes) -> None:
    chance = random.Random(7)
    for number in range(100):
        name, fields = f"p{number % 7}", a_policy(chance)
        await changes.policies.set(name, **fields)
        before = (await changes.policies.list([name]))[name]
        for again in (
            before.model_dump(exclude={"name", "version"}),
            {field: getattr(before, field) for field in type(before).model_fields.keys() - {"name", "version"}},
        ):
            answer = await changes.policies.set(name, **again)
            assert (answer.status, answer.version) == ("same", before.version), fields
        assert (await changes.policies.list([name]))[name] == before


def a_policy(chance: random.Random) -> dict[str, Any]:
    """Fields of a policy, each of which may be left out, or said to be none."""

    def some(*values: Any) -> Any:
        return chance.choice(values)

    people, tasks = ["user:bob", "group:ops"], ["tell", FollowTask(kind="é", lane="group/a", priority=0)]
    steps = ("approved", "rejected", "changes_requested", "completed", "failed", "cancelled")
    fields: dict[str, Any] = {
        "rejections": some(0, 1, 32),
        "reviewers": some((), [], people),
        "contributors_may_vote": some(True, False),
        "agents_may_vote": some(True, False),
        "needs": some("none", "risk", "preview", "both"),
        "remind": some(0, 1, 1.234, 31_536_000),
        "timeout": some(0, 0.0, 1.5, 2_592_000),
        "auto_below": some(0, 101),
        "deny_tags": some((), ["a", "é"]),
        "approval": some(1, 1.001, 604_800),
        "max_attempts": some(1, 100),
        "delegation_depth": some(0, 4),
        "follow": {step: some(*tasks) for step in chance.sample(steps, chance.randrange(7))},
    }
    fields = {name: value for name, value in fields.items() if some(True, True, False)}
    fields |= some({}, {"escalate": 0, "escalate_to": ()}, {"escalate": 60.5, "escalate_to": people})
    fields |= some({}, {"timeout_approve_below": 0}, {"on_timeout": "approve", "timeout_approve_below": some(1, 101)})
    return {"required": some(1, 32), **fields}


# Readers


async def test_changes_are_listed_by_one_condition(changes: Changes) -> None:
    for number in range(3):
        await changes.put(f"c{number}", **CONTENT, actor="ann", tags=["a"] if number else [], team="t")
    await in_review(changes, ("user:bob"), id="c9")
    page = await changes.list(author="ann", limit=2)
    assert len(page.changes) == 2
    page = await changes.list(author="ann", limit=10, cursor=page.cursor)
    assert (len(page.changes), page.cursor) == (2, "")

    async def ids(**by: Any) -> set[str]:
        return {one.id async for one in changes.iterate(**by)}

    assert await ids(state="draft") == {"c0", "c1", "c2"}
    assert await ids(tag="a") == {"c1", "c2"}
    assert await ids(team="t") == {"c0", "c1", "c2"}
    assert await ids(reviewer="user:bob") == {"c9"}
    assert await ids(resource="database:orders") == {"c0", "c1", "c2", "c9"}
    stats = await changes.stats()
    assert (stats.states["draft"], stats.states["reviewing"], stats.overdue, stats.since) == (3, 1, 0, None)
    with pytest.raises(TypeError, match="one condition is needed"):
        await changes.list()
    with pytest.raises(TypeError, match="one condition is needed"):
        await changes.list(author="ann", tag="a")
    found = await changes.get_many(["c1", "gone", "c2"])
    assert [one and one.id for one in found] == ["c1", None, "c2"]
    assert await changes.get("gone") is None


async def test_what_is_due_is_done_by_a_sweep(timed_changes: Changes, clock: Clock) -> None:
    changes = timed_changes
    await in_review(changes, "user:bob", timeout=60)
    clock.tick(61)
    change = await read(changes)
    assert (change.state, change.overdue) == ("reviewing", True)
    assert [one async for one in changes.iterate_inbox("bob")] == []
    stats = await changes.stats()
    assert (stats.overdue, stats.since) == (1, change.review_until)
    swept = await changes.sweep()
    assert (swept.status, swept.taken, swept.removed, swept.more) == ("ok", 1, 0, 0)
    change = await read(changes)
    assert (change.state, change.why, change.decided_by, change.overdue) == ("rejected", "timeout", "time", False)
    clock.tick(90 * 86400 + 1)
    assert (await changes.sweep()).removed == 1
    assert await changes.get("c1") is None


# What is refused before anything is written


async def test_an_agent_needs_a_person_who_answers_for_it(changes: Changes) -> None:
    refused: list[dict[str, Any]] = [
        {"actor": "bot-7", "kind": "agent"},
        {"actor": "bot-7", "kind": "agent", "principal": "bot-7"},
    ]
    for who in refused:
        with pytest.raises(BadArgument, match="the person who answers for the agent bot-7"):
            await changes.put("c1", **CONTENT, **who)
    with pytest.raises(BadArgument, match="because the person ann answers for itself; or kind='agent'"):
        await changes.put("c1", **CONTENT, actor="ann", principal="eve", kind="person")
    with pytest.raises(TypeError, match="actor: it is required"):
        await changes.put("c1", **CONTENT)
    assert (await changes.put("c1", **CONTENT, actor="bot-7", principal="eve")).status == "created"
    change = await read(changes)
    assert (change.author, change.principal) == ("bot-7", "eve")
    await changes.policies.set("review", required=1)
    answer = await changes.submit(change, policy="review", reviewers=["user:eve", "user:bob"], **AGENT)
    assert answer.status == "reviewing"
    assert (await changes.approve(change, actor="eve")).reason == "contributor"


async def test_names_of_people_have_no_invisible_characters(changes: Changes) -> None:
    """Two names that look alike would be two voters."""
    await changes.policies.set("two", required=2, reviewers=["group:ops", "group:ops"])
    change = await changes.put("c1", type="deploy", description="d", actor="ann")
    await changes.submit(change, policy="two", actor="ann")
    seen = await changes.get("c1")
    assert seen
    assert (await changes.approve(seen, actor="bob", groups=["ops"])).status == "recorded"
    for name in "bob\u200b", "bob\u00ad", "b\ufe0fob", "bob\U000e0062":
        calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
            (changes.approve, (seen,), {"actor": name, "groups": ["ops"]}),
            (changes.approve, (seen,), {"actor": "bot", "principal": name, "groups": ["ops"]}),
            (changes.submit, (change,), {"policy": "two", "reviewers": [f"user:{name}"], "actor": "ann"}),
            (
                changes.policies.set,
                ("two",),
                {"required": 1, "escalate": 60, "escalate_to": ["user:bob", f"user:{name}"]},
            ),
            (changes.delegate, ("c1", name), {"actor": "bob"}),
            (changes.delegations.set, ("bob", "d"), {"to": name}),
            (changes.add_request, ("c1", f"user:{name}"), {"actor": "op", "reason": "so"}),
            (changes.inbox, (name,), {}),
        ]
        for method, arguments, options in calls:
            with pytest.raises(BadArgument, match="without invisible characters"):
                await method(*arguments, **options)
    assert (await changes.approve(seen, actor="zoé", groups=["ops"])).status == "approved"


async def test_what_is_not_accepted_is_said_before_anything_runs(changes: Changes, adeq: Adeq) -> None:
    put = await changes.put("c1", **CONTENT, actor="ann")
    cases: list[dict[str, Any]] = [
        {"type": "a b"},
        {"description": ""},
        {"resources": ["orders"]},
        {"resources": ["database:orders", "database:orders"]},
        {"rollback_strategy": "magic"},
        {"priority": 101},
        {"actor": ""},
        {"parameters": object()},
        {"id": "x" * 65},
    ]
    for case in cases:
        (name,) = case
        with pytest.raises(BadArgument, match=name):
            await changes.put(**{"id": "c2", **CONTENT, "actor": "ann", **case})
    with pytest.raises(BadArgument, match="score"):
        await changes.assess(put, score=101, actor="r")
    for seen in ("c1", None, ("c1", 1)):
        with pytest.raises(BadArgument, match=r"allowed: the Change or InboxEntry that was read, or ChangeRef"):
            await changes.approve(seen, actor="bob")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="digest"):
        await changes.approve(ChangeRef("c1", 1, "abc"), actor="bob")
    with pytest.raises(BadArgument, match="reviewer"):
        await changes.submit(put, policy="p", reviewers=["bob"], actor="ann")
    with pytest.raises(BadArgument, match="reason"):
        await changes.comment(put, "", actor="bob")
    with pytest.raises(TypeError, match="quorum: there is no such option"):
        await changes.policies.set("p", required=1, quorum=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="required: it is required"):
        await changes.policies.set("p")
    with pytest.raises(BadArgument, match="follow: 'Approved' is not accepted; allowed: approved, cancelled"):
        await changes.policies.set("p", required=1, follow={"Approved": "tell"})
    for state in ("REVIEWING", "open"):
        with pytest.raises(
            BadArgument, match=f"state: '{state}' is not accepted; allowed: draft, submitted, reviewing"
        ):
            await changes.list(state=state)  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match="state"):
            [one async for one in changes.iterate(state=state)]  # type: ignore[arg-type]
    for given in ({"kind": "Person"}, {"rollback_strategy": "MANUAL"}):
        with pytest.raises(BadArgument, match="allowed: "):
            await changes.put("c2", **{**CONTENT, "actor": "ann", **given})
    with pytest.raises(BadArgument, match="priority: 'URGENT' is not accepted; allowed: low or normal"):
        await changes.submit(put, policy="p", priority="URGENT", actor="ann")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="action: 'APPROVE' is not accepted"):
        ChangeAnswer(id="c1", rev=1, digest=put.digest, action="APPROVE")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="result: 'SUCCESS' is not accepted; allowed: success or failure"):
        await changes.finish("c1", "x", "SUCCESS")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="at most 64 characters"):
        adeq.changes("x" * 65)
    assert await changes.get("c2") is None
