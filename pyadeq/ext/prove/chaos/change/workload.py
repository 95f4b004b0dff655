"""What the clients of a chaos run do with changes: propose, vote, apply and sweep, each in a role of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from random import Random
from time import time
from typing import Any, Final

from pyadeq import Adeq
from pyadeq.asyncio import ChangeRef, Grant
from pyadeq.errors import CannotApply, ChangeLost, ChangeStopped, DurabilityError, OwnerWaits, TransportError
from pyadeq.ext.prove.chaos.change.recorder import RecordedChanges
from pyadeq.ext.prove.chaos.part import Play
from pyadeq.ext.prove.chaos.workload import ANSWERS, PAUSE, WAIT, Client, Scene
from pyadeq.ids import new_ulid

PEOPLE: Final = ("ann", "bob", "cid", "dora", "eve", "finn")
GROUP: Final = "oncall"  # all of them
# Agents, and the people who answer for them: not those of the same number, so that an agent's principal may vote, too.
AGENTS: Final = {f"agent-{number}": PEOPLE[number] for number in range(len(PEOPLE))}
ALL: Final = [f"user:{person}" for person in PEOPLE]
SOME_AGENTS: Final = ["user:agent-0", "user:agent-3"]
FOLLOWS: Final = {f"{step}_kind": "follow" for step in ("approved", "rejected", "completed", "failed", "cancelled")}
POLICIES: Final[list[dict[str, Any]]] = [
    {"name": "two", "required": 2, "rejections": 2, "reviewers": ALL + SOME_AGENTS, "agents_may_vote": True, **FOLLOWS},
    {"name": "veto", "required": 3, "reviewers": [*ALL, f"group:{GROUP}"], "approval": 3},
    {"name": "risky", "required": 1, "reviewers": ALL[:3], "needs": "risk", "auto_below": 30, "deny_tags": ["frozen"]},
    {
        "name": "slow",
        "required": 2,
        "reviewers": [ALL[0], f"group:{GROUP}", f"group:{GROUP}"],
        "remind": 1,
        "escalate": 1,
        "escalate_to": ALL[3:5],
        "timeout": 2,
        "on_timeout": "approve",
        "timeout_approve_below": 20,
        "agents_may_vote": True,
    },
    {
        "name": "open",
        "required": 1,
        "rejections": 0,
        "reviewers": ALL,
        "contributors_may_vote": True,
        "max_attempts": 2,
    },
]
SETTINGS: Final = {"auto_approve_low_risk": True, "events_max": 10_000_000}
PACE: Final = 6.0  # changes a second of each proposer
PAGE: Final = 20
LIVE: Final = ("draft", "submitted", "reviewing", "approved", "applying")


def set_up(adeq: Adeq, scene: Scene) -> None:
    """Make the domain and its policies. In one slot, the server verifies the locks of those who apply changes."""
    changes = adeq.noun("change", scene.domain)
    locks = scene.domain if adeq.slot else "none"
    changes.configure(lease=scene.lease, follow_queue=scene.queue, lock_domain=locks, **SETTINGS)
    adeq.send(changes.calls.build("set_policies", item=POLICIES))


def left(adeq: Adeq, scene: Scene) -> dict[str, int]:
    """What has not come to its end."""
    changes = adeq.noun("change", scene.domain)
    swept = adeq.send(changes.calls.build("sweep", limit=100))
    states = adeq.send(changes.calls.build("stats")).states
    out = adeq.changes(scene.domain).deliver()
    return {
        "changes that are applied": states["applying"],
        "changes to sweep": swept.more,
        "tasks to deliver": out.left,
    }


def _changes(client: Client) -> RecordedChanges:
    return client.noun(RecordedChanges)


def who_writes(random: Random) -> dict[str, str]:
    """A person, or an agent and the person who answers for it."""
    if random.random() < 0.5:
        return {"actor": random.choice(PEOPLE)}
    return _agent(random)


def _agent(random: Random) -> dict[str, str]:
    agent = random.choice(list(AGENTS))
    return {"actor": agent, "principal": AGENTS[agent], "kind": "agent"}


async def _find(client: Client, by: str, value: str) -> list[Any]:
    """Some changes of an index; none if the server is away."""
    page = await client.attempt(partial(_changes(client).call, "list", by=by, value=value, limit=PAGE))
    return [] if page is None else page.items


# Proposers


async def propose(client: Client) -> None:
    """Write changes, some under ids that other proposers use as well; revise, submit, withdraw, cancel, reopen them."""
    number = 0
    while not client.stopped.is_set():
        number += 1
        await _write(client, number)
        if client.chance(0.5):
            await _steer(client)
        await client.idle(client.random.expovariate(PACE))


async def _write(client: Client, number: int) -> None:
    random, call = client.random, _changes(client).call
    id = f"shared-{number // 3}" if client.chance(0.15) else f"{client.name}.{number}"
    who = who_writes(random)
    put = partial(call, "put", id=id, rid=new_ulid(), **who, **_content(random, id))
    made = await client.attempt(put)
    if client.chance(0.05):
        await client.attempt(put)  # as a client does that has not seen the answer
    if made is None or made.status != "created" or client.chance(0.05):
        return
    rev = made.rev
    if client.chance(0.2):
        revised = await client.attempt(
            partial(call, "put", id=id, expect_rev=rev, **who_writes(random), **_content(random, id))
        )
        rev = revised.rev if revised is not None and revised.rev else rev
    policy = random.choice(POLICIES)["name"]
    submit = partial(
        call, "submit", id=id, rev=rev, rid=new_ulid(), policy=policy, priority=random.choice(("low", "urgent")), **who
    )
    await client.attempt(submit)
    if client.chance(0.05):
        await client.attempt(submit)


def _content(random: Random, id: str) -> dict[str, Any]:
    return {
        "change_type": "deploy",
        "description": f"what {id} does, {random.randrange(4)}",
        "parameters": b"%d" % random.randrange(4),
        "resources": random.sample(["database:orders", "database:users", "host:web-1"], random.randint(0, 3)),
        "tags": random.sample(["frozen", "urgent"], random.randint(0, 1)),
        "team": random.choice(("red", "blue")),
    }


async def _steer(client: Client) -> None:
    """Do with a change that is there what only those may do who have written it, and sometimes those who have not."""
    random, call = client.random, _changes(client).call
    found = await _find(client, "state", random.choice((*LIVE, "failed", "rejected")))
    if not found:
        return
    one = random.choice(found)
    author = one.summary["author"]
    who = {"actor": author}
    if author in AGENTS:
        who = {"actor": author, "principal": AGENTS[author], "kind": "agent"}
    chance = random.random()
    if chance < 0.4:
        writer = who if client.chance(0.7) else who_writes(random)
        await client.attempt(partial(call, "put", id=one.id, expect_rev=one.rev, **writer, **_content(random, one.id)))
    elif chance < 0.85:
        to = {"failed": "reopen", "rejected": "reopen"}.get(one.state, random.choice(("withdraw", "cancel")))
        await client.attempt(
            partial(call, "move", id=one.id, to=to, **(who if client.chance(0.9) else who_writes(random)))
        )
    if chance > 0.7 or one.state == "draft":
        await client.attempt(partial(call, "submit", id=one.id, rev=one.rev, policy="two", **who))


# Voters


async def vote(client: Client) -> None:
    """Assess changes and answer requests, as any person or agent; several processes are the same person at once."""
    while not client.stopped.is_set():
        if client.chance(0.4):
            await _assess(client)
        for _ in range(client.random.randint(1, 4)):
            await _answer(client)
        if client.chance(0.2):
            await _intrude(client)
        if client.chance(0.2):
            await _hand_on(client)
        await client.idle(client.random.random() * 0.1)


async def _assess(client: Client) -> None:
    random, call = client.random, _changes(client).call
    for one in (await _find(client, "state", random.choice(("submitted", "submitted", "reviewing"))))[:4]:
        digest = await _digest_of(client, one)
        if digest:
            what = {"id": one.id, "rev": one.rev, "digest": digest, "score": random.randrange(101)}
            auto = client.chance(0.7)
            await client.attempt(partial(call, "assess", **what, auto_approvable=auto, **who_writes(random)))


async def _revision(client: Client, one: Any) -> Any:
    """The change that a list has named; None if it has another revision now."""
    found = await client.attempt(partial(_changes(client).call, "get", item=[one.id]))
    change = None if found is None else found.items[0].change
    return change if change and change["rev"] == one.rev else None


async def _digest_of(client: Client, one: Any) -> str:
    """The digest of the revision that a list has named; nothing if the change has another one now."""
    change = await _revision(client, one)
    return str(change["digest"]) if change else ""


async def _answer(client: Client) -> None:
    random = client.random
    person = random.choice(PEOPLE)
    who: dict[str, Any] = {"actor": person, "groups": [GROUP] if client.chance(0.5) else []}
    asked = partial(_changes(client).call, "inbox", user=person, groups=who["groups"], limit=PAGE)
    if client.chance(0.25):
        who |= _agent(random)
        asked = partial(asked, user=who["actor"], principal=who["principal"])
    page = await client.attempt(asked)
    if page is None or not page.items:
        return
    some = random.sample(page.items, min(len(page.items), random.choice((1, 1, 1, 2, 5))))
    await client.attempt(partial(_respond, client, [_vote(client, one) for one in some], who, new_ulid()))


def _vote(client: Client, one: Any) -> dict[str, Any]:
    action = client.random.choices(
        ("approve", "reject", "request_changes", "comment", "abstain", "retract"), (14, 2, 1, 1, 1, 2)
    )[0]
    slot = one.slot if client.chance(0.6) else 0
    digest = one.digest if client.chance(0.97) else "0" * 40
    return {"id": one.id, "rev": one.rev, "digest": digest, "action": action, "slot": slot, "reason": "as it is"}


async def _intrude(client: Client) -> None:
    """Approve what may be one's own, or what another person was asked."""
    for one in (await _find(client, "state", client.random.choice(("reviewing", "reviewing", "approved"))))[:2]:
        digest = await _digest_of(client, one)
        action = client.random.choice(("approve", "retract"))
        if digest:
            answer = {"id": one.id, "rev": one.rev, "digest": digest, "action": action}
            groups = [GROUP] if client.chance(0.5) else []
            who = who_writes(client.random) | {"groups": groups}
            await client.attempt(partial(_changes(client).call, "respond", item=[answer], **who))


async def _hand_on(client: Client) -> None:
    """Delegate a request, or take it back; as an operator, change who is asked; in an emergency, override.

    Some persons are away for seconds, and others answer instead of them.
    """
    random, call = client.random, _changes(client).call
    if client.chance(0.2):
        away: dict[str, Any] = {"name": "away", "to": random.choice(PEOPLE), "cascade": client.chance(0.5)}
        away["until_ms"] = random.choice((1, int((time() + random.uniform(1, 4)) * 1000)))
        if client.chance(0.3):
            away = {"name": "away", "remove": True}
        await client.attempt(partial(call, "set_delegations", user=random.choice(PEOPLE), item=[away]))
    found = await _find(client, "state", random.choice(("reviewing", "reviewing", "submitted")))
    if not found:
        return
    one, person, slot = random.choice(found), random.choice(PEOPLE), random.randint(1, 6)
    chance = random.random()
    if chance < 0.6:
        to = random.choice((None, *PEOPLE))
        await client.attempt(partial(call, "delegate", id=one.id, slot=random.choice((0, slot)), actor=person, to=to))
    elif chance < 0.9:
        operation = random.choice(("add", "remove", "move", "dismiss"))
        options: dict[str, Any] = {} if operation in ("remove", "dismiss") else {"reviewer": random.choice(ALL)}
        if operation != "add":
            options["slot"] = slot
        reassign = partial(
            call, "reassign", id=one.id, operation=operation, actor="operator", reason="a test", **options
        )
        await client.attempt(reassign)
    elif digest := await _digest_of(client, one):
        what = {"id": one.id, "rev": one.rev, "digest": digest, "reason": "a test"}
        await client.attempt(partial(call, "override", actor=person, **what))


async def _respond(client: Client, votes: list[dict[str, Any]], who: dict[str, Any], rid: str) -> Any:
    # In one slot, the tasks that follow a decision are enqueued with it.
    named = {"queue": client.plain.base} if client.scene.slot else {}
    answer = await _changes(client).call("respond", item=votes, rid=rid, **who, **named)
    if client.chance(0.05):
        answer = await _changes(client).call("respond", item=votes, rid=rid, **who, **named)
    if client.chance(0.05):  # an approval is taken back, perhaps of what is approved by now
        back = [{**one, "action": "retract"} for one in votes[:1]]
        await _changes(client).call("respond", item=back, **who)
    return answer


# Appliers


async def apply(client: Client) -> None:
    """Begin what is approved, several appliers the same change, and end the runs in all ways, or not at all."""
    while not client.stopped.is_set():
        found = await _find(client, "state", "approved" if client.chance(0.9) else "applying")
        if found:
            await _run(client, client.random.choice(found))
        await client.idle(client.random.random() * 0.1)


async def _run(client: Client, one: Any) -> None:
    call = _changes(client).call
    change = await _revision(client, one)
    if not change:
        return
    digest = change["digest"]
    if client.chance(0.4):
        await _apply_in_block(client, ChangeRef(one.id, one.rev, digest))
        return
    grant, named = None, {}
    if client.scene.slot:
        named = {"lock": client.locks.locks.base}
        if client.chance(0.9):
            grant = await _take_locks(client, one.id, change["resources"])
    held = {"lock_rid": grant.rid} if grant else {}
    begin = partial(
        call, "begin", id=one.id, rev=one.rev, digest=digest, agent=client.name, rid=new_ulid(), **held, **named
    )
    begun = await client.attempt(begin)
    if begun is not None and begun.status == "begun" and not client.chance(0.08):  # or it is left to its lease
        await _carry_on(client, one.id, begun.token, named)
    if grant is not None:
        await client.attempt(partial(client.locks.release, grant))


async def _take_locks(client: Client, id: str, resources: list[str]) -> Grant | None:
    """Take the locks of a change; None if it needs none, cannot have them, or if another applier waits for them."""
    wanted = client.random.sample(resources, max(0, len(resources) - client.chance(0.1)))
    owner = f"{_changes(client).name}/{id}"
    take = partial(client.locks.take_many, wanted, owner=owner, agent=client.name, wait=WAIT)
    try:
        grant: Grant | None = await client.attempt(take) if wanted else None
    except OwnerWaits:  # the owner is the change, and so it is for each applier
        return None
    return grant


async def _carry_on(client: Client, id: str, token: str, named: dict[str, str]) -> None:
    """Renew the lease of a run, or not, and end the run."""
    random, call = client.random, _changes(client).call
    await asyncio.sleep(random.random() * 0.1)
    if client.chance(0.3):
        await client.attempt(partial(call, "heartbeat", id=id, token=token, **named))
    if client.chance(0.06):
        await asyncio.sleep(client.scene.lease * random.uniform(1.0, 1.4))  # too long: another may have it now
    if client.chance(0.04):
        await client.attempt(partial(call, "finish", id=id, token=new_ulid(), result="success"))
    result = random.choices(("success", "failure", "released", "timeout", "cancelled"), (10, 3, 2, 1, 1))[0]
    finish = partial(call, "finish", id=id, token=token, rid=new_ulid(), result=result, retry=client.chance(0.5))
    await client.attempt(finish)
    if client.chance(0.05):
        await client.attempt(finish)
    if client.chance(0.05):
        await client.attempt(partial(call, "finish", id=id, token=token, result="success"))


async def _apply_in_block(client: Client, seen: ChangeRef) -> None:
    """Apply as programs do, with a lease that is renewed in the background."""
    random = client.random
    try:
        locks = client.locks if client.scene.slot else None
        async with _changes(client).apply(
            seen, agent=client.name, retry=client.chance(0.5), locks=locks, wait=WAIT
        ) as run:
            await asyncio.sleep(client.scene.lease * 1.3 if client.chance(0.05) else random.random() * 0.2)
            run.check()
            if client.chance(0.2):
                raise ValueError("it went wrong")
            if client.chance(0.1):
                await run.finish("released")
    except (ValueError, CannotApply, ChangeLost, ChangeStopped, TransportError, DurabilityError, *ANSWERS):
        await client.idle(PAUSE * random.random())


# Sweepers


async def sweep(client: Client) -> None:
    """Do what is due; it may be killed, and nothing waits for it."""
    while not client.stopped.is_set():
        await client.attempt(partial(_changes(client).call, "sweep", limit=client.random.choice((1, 20))))
        await client.attempt(_changes(client).deliver)
        await client.idle(client.random.random())


ROLES: Final[Mapping[str, Play]] = {"proposer": propose, "voter": vote, "applier": apply, "sweeper": sweep}


async def take_part(client: Client) -> None:
    """Play all roles of changes in one process."""
    await asyncio.gather(*(play(client) for play in ROLES.values()))
