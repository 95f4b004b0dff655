"""Changes in each of their states, for scenarios and tests of contracts.

`Seen` names a revision as calls do: `id`, `rev` and `digest`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tests.nouns.bench import NounBench

B = TypeVar("B", bound=NounBench)
Seen = dict[str, Any]
DAY = 86_400_000  # ms
CONTENT: dict[str, Any] = {"change_type": "deploy", "description": "Version 2 for all"}
LARGE: dict[str, Any] = {
    "description": "d" * 4096,
    "version": "v" * 100,
    "parameters": "p" * 65_536,
    "resources": [f"database:{number:03}".ljust(200, "x") for number in range(32)],
    "author_name": "a" * 200,
    "team": "t" * 200,
    "ticket_ref": "r" * 200,
    "tags": [f"{number:02}".ljust(200, "x") for number in range(16)],
}


def policy(bench: NounBench, name: str = "p", required: int = 1, **fields: Any) -> None:
    bench.put("set_policies", item=[{"name": name, "required": required, **fields}])


def draft(bench: NounBench, id: str = "c", actor: str = "ann", **fields: Any) -> Seen:
    return seen(id, bench.put("put", id=id, actor=actor, **{**CONTENT, **fields}))


def revised(bench: NounBench, before: Seen, actor: str = "ann", **fields: Any) -> Seen:
    fields = {**CONTENT, "description": "Version 3", **fields}
    return seen(before["id"], bench.put("put", id=before["id"], expect_rev=before["rev"], actor=actor, **fields))


def submit(bench: NounBench, one: Seen, *reviewers: str, policy: str = "p", **fields: Any) -> Any:
    asked = [{"reviewer": reviewer} for reviewer in reviewers]
    return bench.put("submit", id=one["id"], rev=one["rev"], actor="ann", policy=policy, item=asked, **fields)


def submitted(bench: NounBench, id: str = "c", *reviewers: str, **fields: Any) -> Seen:
    """It waits for the risk."""
    policy(bench, needs="risk", **fields)
    one = draft(bench, id)
    submit(bench, one, *(reviewers or ("user:bob",)))
    return one


def in_review(
    bench: NounBench,
    id: str = "c",
    *reviewers: str,
    priority: str = "normal",
    content: dict[str, Any] | None = None,
    **fields: Any,
) -> Seen:
    """By its own policy, of which these are the fields."""
    policy(bench, **fields)
    one = draft(bench, id, **(content or {}))
    submit(bench, one, *(reviewers or ("user:bob",)), priority=priority)
    return one


def answer(bench: NounBench, one: Seen, actor: str, action: str = "approve", **fields: Any) -> Any:
    own = {name: fields.pop(name) for name in ("slot", "reason") if name in fields}
    return bench.put("respond", actor=actor, item=[{**one, "action": action, **own}], **fields).items[0]


def delegate(bench: NounBench, actor: str, to: str | None, id: str = "c", **fields: Any) -> Any:
    return bench.put("delegate", id=id, actor=actor, to=to, **fields)


def instead(bench: NounBench, user: str = "bob", to: str = "eve", name: str = "d", **fields: Any) -> Any:
    """Store a delegation of a person."""
    return bench.put("set_delegations", user=user, item=[{"name": name, "to": to, **fields}])


def approved(bench: NounBench, id: str = "c", *reviewers: str, **fields: Any) -> Seen:
    one = in_review(bench, id, *reviewers, **fields)
    answer(bench, one, "bob")
    return one


def applying(bench: NounBench, id: str = "c", *reviewers: str, rid: str = "token", **fields: Any) -> Seen:
    """The token of the run is `rid`."""
    one = approved(bench, id, *reviewers, **fields)
    bench.put("begin", rid=rid, agent="bot", **one)
    return one


def finish(bench: NounBench, one: Seen, result: str = "success", token: str = "token", **fields: Any) -> Any:
    return bench.put("finish", id=one["id"], token=token, result=result, **fields)


def move(bench: NounBench, one: Seen, to: str, actor: str = "ann", **fields: Any) -> Any:
    return bench.put("move", id=one["id"], to=to, actor=actor, **fields)


def assess(bench: NounBench, one: Seen, score: int | None = None, **fields: Any) -> Any:
    return bench.put("assess", **one, actor="meter", score=score, **fields)


def seen(id: str, told: Any) -> Seen:
    return {"id": id, "rev": told.rev, "digest": told.digest}


def people(n: int, first: int = 0) -> list[str]:
    """So many reviewers, of the greatest length."""
    return [f"user:u{number}/".ljust(200, "x") for number in range(first, first + n)]


def name_of(reviewer: str) -> str:
    return reviewer.partition(":")[2]


def about_to_be_over(bench: NounBench, slots: int, n: int = 10) -> None:
    """So many other reviews, of which the next call that finds them must take each request out of an inbox."""
    for number in range(n):
        in_review(bench, f"other{number}", *people(slots), timeout=60)


def let_them_be_over(bench: NounBench) -> None:
    bench.pass_time(60_000)


def largest(bench: NounBench, slots: int) -> Seen:
    """A change with all that there may be, of the greatest length, but for its log."""
    policy(bench, required=slots, deny_tags=LARGE["tags"], reviewers=people(min(slots, 16)), agents_may_vote=True)
    one = draft(bench, **LARGE)
    assess(bench, one, 100, factors="f" * 8192, preview="p" * 65_536, assessed_by="a" * 200)
    submit(bench, one, *people(slots - min(slots, 16), 16))
    for reviewer in people(slots):
        answer(bench, one, name_of(reviewer), reason="r" * 4096, proof="p" * 200)
    bench.put("begin", rid="token", agent="a" * 200, **one)
    own = {"output_key": "k" * 1024, "error": "e" * 1024, "error_details": "d" * 4096}
    finish(bench, one, "failure", printed="p" * 16_384, output_cut=True, **own)
    return one


def watched(bench: B) -> B:
    """All its calls go through the watched client, so that mutants meet what a test asks for."""
    bench.real = bench.run  # type: ignore[method-assign]
    return bench
