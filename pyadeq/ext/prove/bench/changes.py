"""Changes: what each kind of call costs, alone and where many ended ones are kept; and the bytes of a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from hashlib import sha1
from typing import Any

from pyadeq import Adeq, Call, LockRequest
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.growth import fitting
from pyadeq.ext.prove.bench.paths import UNIT, Calls, Path, measured
from pyadeq.ext.prove.bench.scene import HOUR, PAYLOAD, Scene
from pyadeq.ids import new_ulid

CONTENT: dict[str, Any] = {
    "actor": "ann",
    "change_type": "config",
    "description": "Raise the number of connections of the two databases",
    "parameters": PAYLOAD,
    "tags": ["database", "prod", "weekly"],
}
RESOURCES = ("database:prod-1", "database:prod-2")
REVIEWERS = 3
OPEN = 10_000  # requests in an inbox, or changes in a list
PAGE = 50
KEPT = (1_000, 10_000, 100_000, 200_000)  # ended changes
LIVES = 500  # that are measured beside them, in a round
BYTES = 10_000  # of an ended change, at most
CHUNK = 1_000  # changes that are made together
STEPS = ("put", "submit", "vote", "deciding vote", "begin", "heartbeat", "finish")
IN_REVIEW, WHOLE_LIFE = STEPS[:2], tuple(step for step in STEPS if step != "heartbeat")
FORGOTTEN = ("once", "once:due")  # answers that are remembered for a minute


@cache
def digest(resources: tuple[str, ...]) -> str:
    """Return the digest of CONTENT with these resources, as the scripts compute it: SHA-1 of netstrings."""
    kind, text, data = (CONTENT[name] for name in ("change_type", "description", "parameters"))
    parts = [kind, "", text, data, *sorted(resources), "none", "0", "50"]
    some = (one if isinstance(one, bytes) else one.encode() for one in parts)
    return sha1(b"".join(b"%d:%s," % (len(one), one) for one in some)).hexdigest()


class Domain:
    """A change domain. All changes have the same content, if not `apart`. Reviewers are r0, r1 and so on."""

    def __init__(self, scene: Scene, changes: Any) -> None:
        self.scene, self.changes = scene, changes
        self.build = changes.calls.build
        changes.configure(keep_max=10_000_000)
        self.policy()
        self.apart = False  # whether each change has two databases of its own

    def policy(self, **fields: Any) -> None:
        """Store the policy of all changes that are submitted from now on."""
        self.done([self.build("set_policies", item=[{"name": "bench", "required": 2, "timeout": HOUR, **fields}])])

    def ids(self, count: int) -> list[str]:
        """Return ids of changes that do not exist yet."""
        return [new_ulid() for _ in range(count)]

    def resources(self, id: str) -> tuple[str, ...]:
        """What a change is about."""
        return (f"database:{id}-1", f"database:{id}-2") if self.apart else RESOURCES

    def digest(self, id: str) -> str:
        """Return the digest of the content of a change."""
        return digest(self.resources(id))

    def put(self, ids: Sequence[str]) -> Calls:
        """Create drafts."""
        return [self.build("put", id=id, resources=self.resources(id), **CONTENT) for id in ids]

    def submit(self, ids: Sequence[str], reviewers: int = REVIEWERS) -> Calls:
        """Ask that many reviewers."""
        asked = [f"user:r{n}" for n in range(reviewers)]
        return [self.build("submit", id=id, rev=1, actor="ann", policy="bench", item=asked) for id in ids]

    def vote(self, ids: Sequence[str], reviewer: int, size: int = 1, **bases: str) -> Calls:
        """Approve, that many changes in a call. bases: of other nouns in the slot."""
        answers = [{"id": id, "rev": 1, "digest": self.digest(id), "action": "approve"} for id in ids]
        some = (answers[start : start + size] for start in range(0, len(ids), size))
        return [self.build("respond", actor=f"r{reviewer}", item=one, **bases) for one in some]

    def begin(self, ids: Sequence[str]) -> Calls:
        """Begin runs, whose tokens are made of the ids."""
        return [self._run("begin", id, rid=f"run-{id}", rev=1, digest=self.digest(id), agent="bench") for id in ids]

    def heartbeat(self, ids: Sequence[str]) -> Calls:
        """Renew their leases."""
        return [self._run("heartbeat", id, token=f"run-{id}") for id in ids]

    def finish(self, ids: Sequence[str]) -> Calls:
        """End them, with success."""
        return [self._run("finish", id, token=f"run-{id}", result="success", printed=PAYLOAD) for id in ids]

    def _run(self, verb: str, id: str, **arguments: Any) -> Call[Any]:
        found: Call[Any] = self.build(verb, id=id, **arguments)
        return found

    def step(self, name: str, ids: Sequence[str]) -> Calls:
        """The calls of one of STEPS."""
        match name:
            case "vote":
                return self.vote(ids, 0)
            case "deciding vote":
                return self.vote(ids, 1)
        found: Calls = getattr(self, name)(ids)
        return found

    def take(self, ids: Sequence[str], steps: Sequence[str]) -> None:
        """Make these changes take some steps."""
        for name in steps:
            self.done(self.step(name, ids))

    def fill(self, count: int, steps: Sequence[str]) -> None:
        """Make that many changes, which take some steps."""
        for start in range(0, count, CHUNK):
            self.scene.tell(f"{start:,} of {count:,} changes are there")
            self.take(self.ids(min(CHUNK, count - start)), steps)

    def done(self, calls: Calls) -> None:
        """Make calls in pipelines of a hundred."""
        for script in {call.script for call in calls}:
            self.scene.client.script_load(script.text)
        commands = [call.command() for call in calls]
        self.scene.sender([commands[start : start + 100] for start in range(0, len(commands), 100)])()


class Stage(Domain):
    """A domain for one path, with a queue and a lock domain in its slot.

    count: of the calls of the path; size: how many changes each of them has.
    """

    def __init__(self, scene: Scene, stack: ExitStack, count: int, size: int) -> None:
        adeq = stack.enter_context(Adeq.from_url(scene.url, slot=f"bench-{new_ulid()}"))
        stack.callback(scene.remove, f"{adeq.prefix}:{{{adeq.slot}}}")
        super().__init__(scene, adeq.changes("bench"))
        self.count, self.size = count, size
        self.queue, self.locks = adeq.queue("bench"), adeq.locks("bench")

    def opened(self, reviewers: int = REVIEWERS) -> list[str]:
        """The ids of new changes under review, as many as all calls have."""
        ids = self.ids(self.count * self.size)
        self.done(self.put(ids))
        self.done(self.submit(ids, reviewers))
        return ids

    def before(self, step: str) -> list[str]:
        """The ids of new changes that have taken all steps before this one."""
        ids = self.ids(self.count)
        self.take(ids, STEPS[: STEPS.index(step)])
        return ids


def _put(at: Stage) -> Calls:
    return at.put(at.ids(at.count))


def _revise(at: Stage) -> Calls:
    """Another description, under review: a new round."""
    content = {**CONTENT, "description": "Raise the number of connections"}
    return [at.build("put", id=id, expect_rev=1, resources=RESOURCES, **content) for id in at.opened()]


def _submit(at: Stage) -> Calls:
    return at.submit(at.before("submit"), 5)


def _vote(at: Stage) -> Calls:
    return at.vote(at.opened(), 0, at.size)


def _decide_of_32(at: Stage) -> Calls:
    at.policy(required=1)
    return at.vote(at.opened(32), 0, at.size)


def _step(at: Stage, name: str) -> Calls:
    return at.step(name, at.before(name))


def _decide_with_task(at: Stage) -> Calls:
    """The script of the vote also enqueues the task that follows."""
    at.queue.configure()
    at.changes.configure(follow_queue=at.queue.name)
    at.policy(approved_kind="apply")
    return at.vote(at.before("deciding vote"), 1, queue=at.queue.base)


def _begin_with_locks(at: Stage) -> Calls:
    """The applier of each change holds the locks of its two databases."""
    at.changes.configure(lock_domain=at.locks.name)
    at.apart = True
    ids = at.before("begin")
    issued_ms = round(at.locks.stats().now * 1000)
    at.done(
        [
            at.locks.calls.acquire_many(
                f"locks-{id}",
                [LockRequest(resource=one) for one in at.resources(id)],
                f"{at.changes.name}/{id}",
                issued_ms=issued_ms,
                ttl=HOUR,
            )
            for id in ids
        ]
    )
    return [
        at.build("begin", id=id, rev=1, digest=at.digest(id), agent="bench", lock_rid=f"locks-{id}", lock=at.locks.base)
        for id in ids
    ]


def _assess(at: Stage) -> Calls:
    about = {"rev": 1, "digest": digest(RESOURCES), "actor": "risk", "score": 40, "factors": PAYLOAD}
    return [at.build("assess", id=id, **about) for id in at.opened()]


def _delegate(at: Stage) -> Calls:
    return [at.build("delegate", id=id, actor="r0", to="eve") for id in at.opened()]


def _get(at: Stage) -> Calls:
    return [at.build("get", item=[id], with_requests=True) for id in at.opened()]


def _read(at: Stage, verb: str, **arguments: Any) -> Calls:
    at.fill(OPEN, IN_REVIEW)
    return [at.build(verb, **arguments)] * at.count


def _is(status: str) -> Any:
    return lambda told, _: told.status == status


def _all(status: str) -> Any:
    return lambda told, size: [one.status for one in told.items] == [status] * size


def _a_page(told: Any, _: int) -> bool:
    return len(told.items) == PAGE


PATHS = (
    Path("put a change with 2 resources and 3 tags", _put, _is("created")),
    Path("put another revision under review", _revise, _is("revised")),
    Path("submit with 5 reviewers", _submit, _is("reviewing")),
    Path("assess", _assess, _is("ok")),
    Path("vote that does not decide", _vote, _all("recorded")),
    Path("vote that decides among 3 reviewers", partial(_step, name="deciding vote"), _all("approved")),
    Path("vote that decides, with its task", _decide_with_task, _all("approved")),
    Path("vote on 100 changes", _vote, _all("recorded"), 100, 40),
    Path("vote on 100 changes, decide each of 32 requests", _decide_of_32, _all("approved"), 100, 8),
    Path("delegate a request", _delegate, _is("ok")),
    Path("begin to apply", partial(_step, name="begin"), _is("begun")),
    Path("begin to apply, with 2 locks", _begin_with_locks, _is("begun")),
    Path("heartbeat of an applier", partial(_step, name="heartbeat"), _is("renewed")),
    Path("finish", partial(_step, name="finish"), _is("completed")),
    Path("get a change with its 3 requests", _get, _all("found")),
    Path("inbox, 50 of 10,000", partial(_read, verb="inbox", user="r0", limit=PAGE), _a_page, 1, 500),
    Path("list, 50 of 10,000", partial(_read, verb="list", by="state", value="reviewing", limit=PAGE), _a_page, 1, 500),
)


def changes(scene: Scene) -> Iterator[Figure]:
    """Single calls; the same calls where up to 200,000 ended changes are kept; bytes of a change."""
    yield from measured(scene, "changes", PATHS, Stage)
    for count in fitting(scene, "ended changes", KEPT, BYTES):
        with scene.anew() as own, own.noun("change") as found:
            yield from _beside(own, Domain(own, found), count)
    for what, steps in (("under review", IN_REVIEW), ("completed", WHOLE_LIFE)):
        scene.tell(f"bytes of a change {what}")
        with scene.anew() as own, own.noun("change") as found:
            yield _bytes(Domain(own, found), f"a change with 3 requests, {what}", steps)


def _beside(scene: Scene, domain: Domain, count: int) -> Iterator[Figure]:
    """Each step of a change's life, beside that many ended ones and those of earlier rounds."""
    domain.fill(count, WHOLE_LIFE)
    values: dict[str, list[float]] = {}
    for number in range(scene.rounds):
        scene.tell(f"beside {count:,} ended changes, round {number + 1} of {scene.rounds}")
        ids = domain.ids(LIVES)
        for step in STEPS:
            values.setdefault(step, []).append(scene.cpu(scene.calls(domain.step(step, ids))) / LIVES * 1e6)
    kept = scene.client.zcard(f"{domain.changes.base}:ended")
    if kept != count + scene.rounds * LIVES:
        raise AdeqError(f"{kept:,} ended changes are kept, so the figures would mean nothing")
    for step, found in values.items():
        what = f"{step}, beside ended changes"
        yield Figure(subject="changes", what=what, by={"kept": count}, unit=UNIT, values=tuple(found))


def _bytes(domain: Domain, what: str, steps: Sequence[str]) -> Figure:
    scene, base = domain.scene, domain.changes.base
    before = scene.memory(base, *FORGOTTEN)
    domain.fill(scene.tasks, steps)
    each = (scene.memory(base, *FORGOTTEN) - before) / scene.tasks
    return Figure(subject="changes", what=what, unit="bytes", values=(each,))
