"""A story: who does what, and what happens to whom. Made from a seed, changed by the shrinker, told to people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pyadeq.asyncio import Backoff
from tests.simulation import change_story, config_story, event_story, rate_story, session_story
from tests.simulation.steps import Actor, Step, pause

TO_A_HOST: tuple[tuple[str, float, float], ...] = (  # the fate of a request, and between how many seconds
    ("lose request", 0, 0),
    ("lose reply", 0, 0),
    ("half a reply", 0, 0),
    ("swallow request", 0, 0),
    ("swallow reply", 0, 0),
    ("delay request", 0.01, 6),
    ("delay reply", 0.01, 6),
    ("duplicate", 0.001, 6),
    ("pause", 0.1, 8),
    ("crash before", 0.1, 5),
    ("crash after", 0.1, 5),
)
OPERATIONS = ("cancel", "cancel", "pause", "resume", "retry", "run now", "limit", "purge", "trim", "look", "plan")
OVERLAPS = ("skip", "buffer_one", "buffer_all", "cancel_other", "allow")
AT_ANY_TIME = (("stops", 0.1, 8.0), ("crashes", 0.1, 5.0))  # to a host, wherever it waits then
EVERY = (
    16  # stories, of which four are about changes, two about rates, two about sessions, one each of configs and events
)
TO_THE_SERVER = ("flush scripts", "restart", "lose data", "clock back", "clock on")


@dataclass(frozen=True)
class Fault:
    """What happens to the n-th request of an actor, or at a time to an actor or the server. amount: seconds."""

    kind: str
    actor: str = ""
    at: float = 0
    amount: float = 0

    @property
    def of_request(self) -> bool:
        return bool(self.actor) and self.kind not in ("stops", "crashes")


@dataclass(frozen=True)
class Story:
    """All that decides how a run goes, together with the code. settings: of the queue. changes: of the domain."""

    seed: int
    actors: tuple[Actor, ...]
    faults: tuple[Fault, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = *_told("queue", self.settings.items()), *_told("changes", self.changes.items())
        lines = [f"story of seed {self.seed}", *settings]
        for actor in self.actors:
            lines.append(f"  {actor.name}, a {actor.role}" + (", of the other version" if actor.build else ""))
            for number, (verb, options) in enumerate(actor.steps, 1):
                lines.append(f"    {number}. {verb} " + ", ".join(f"{name} {value}" for name, value in options.items()))
        for fault in sorted(self.faults, key=lambda one: (one.actor, one.at)):
            when = f"request {fault.at:g} of {fault.actor}" if fault.of_request else f"after {fault.at:.4f} s"
            who = f"{fault.actor} " if fault.actor and not fault.of_request else ""
            lines.append(f"  {when}: {who}{fault.kind}" + (f" {fault.amount:.3f} s" if fault.amount else ""))
        return "\n".join(lines)


def _told(what: str, settings: Iterable[tuple[str, Any]]) -> list[str]:
    words = ", ".join(f"{name} {value}" for name, value in settings)
    return [f"  {what}: {words}"] if words else []


def story_of(seed: int) -> Story:
    """The story of a seed: about another noun, and in three of eight about tasks and locks."""
    author = _Author(seed)
    match seed % EVERY:
        case 3 | 7 | 11 | 15:
            return author.story_of_changes()
        case 1 | 9:
            return author.story_of(rate_story.actors(author.random))
        case 5 | 13:
            return author.story_of(session_story.actors(author.random))
        case 6:
            return author.story_of(config_story.actors(author.random))
        case 14:
            return author.story_of(event_story.actors(author.random))
    return author.story()


class _Author:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.ids: list[str] = []

    def story_of_changes(self) -> Story:
        random = self.random
        actors = self._in_versions(change_story.actors(random))
        faults = tuple(self._faults(actors))
        return Story(self.seed, tuple(actors), faults, changes=change_story.settings(random))

    def story_of(self, actors: list[Actor]) -> Story:
        actors = self._in_versions(actors)
        return Story(self.seed, tuple(actors), tuple(self._faults(actors)))

    def story(self) -> Story:
        random = self.random
        theme = random.choices(("tasks", "locks", "both"), (6, 3, 1))[0]
        actors: list[Actor] = []
        if theme != "locks":
            actors += [self._producer(n) for n in range(random.randint(1, 2))]
            actors += [self._worker(n) for n in range(random.randint(1, 3))]
            if random.random() < 0.25:
                actors.append(self._program())
            if random.random() < 0.6:
                actors.append(self._operator())
        if theme != "tasks":
            actors += [self._owner(n) for n in range(random.randint(2, 4))]
        actors = self._in_versions(actors)
        return Story(self.seed, tuple(actors), tuple(self._faults(actors)), self._settings())

    def _in_versions(self, actors: list[Actor]) -> list[Actor]:
        if self.random.random() < 0.3:
            return [replace(actor, build=self.random.randint(0, 1)) for actor in actors]
        return actors

    def _settings(self) -> dict[str, Any]:
        random = self.random
        backoff = Backoff(base=random.choice((0.1, 1)))
        settings: dict[str, Any] = {"lease": random.choice((2, 5, 15)), "backoff": backoff}
        if random.random() < 0.2:
            settings["max_crashes"] = random.choice((1, 2))
        if random.random() < 0.1:
            settings["fair"] = True
        return settings

    def _producer(self, number: int) -> Actor:
        steps: list[Step] = []
        for _ in range(self.random.randint(2, 7)):
            if self.random.random() < 0.5:
                steps.append(("sleep", {"seconds": self._pause()}))
            if self.random.random() < 0.06:
                steps.append(("gather", {"children": self.random.randint(1, 3), "rid": f"g{number}{len(steps)}"}))
            else:
                steps.append(("enqueue", self._task()))
        return Actor(f"producer{number}", "producer", tuple(steps))

    def _task(self) -> dict[str, Any]:
        random = self.random
        id = f"t{len(self.ids)}"
        if self.ids and random.random() < 0.05:
            id = random.choice(self.ids)
        task: dict[str, Any] = {"id": id}
        chances: tuple[tuple[float, str, tuple[Any, ...]], ...] = (
            (0.3, "priority", (1, 9)),
            (0.2, "delay", (0.05, 1, 3)),
            (0.2, "lane", ("group/g",)),
            (0.15, "idempotency_key", ("k1", "k2")),
            (0.15, "unique", ("u1", "u2")),
            (0.2, "max_attempts", (1, 2)),
            (0.08, "timeout", (1,)),
            (0.2, "user", ("ann", "bob")),
            (0.1, "limits", (["l"],)),
            (0.1, "scope", ("s1",)),
            (0.1, "result_ttl", (0, 1)),
            (0.1, "reply", (True,)),
        )
        for chance, name, values in chances:
            if random.random() < chance:
                task[name] = random.choice(values)
        if task.get("lane") and random.random() < 0.3:
            task |= {"fallback": "wider", "fallback_after": random.choice((0.1, 2))}
        if self.ids and random.random() < 0.15:
            task["after"] = [random.choice(self.ids)]
        self.ids.append(id)
        return task

    def _worker(self, number: int) -> Actor:
        random = self.random
        steps: list[Step] = []
        for _ in range(random.randint(2, 6)):
            does = random.choices(
                ("ack", "fail", "fail for good", "release", "snooze", "forget", "ack twice", "ack late", "settle"),
                (10, 3, 1, 2, 1, 1, 1, 1, 4),
            )[0]
            steps.append(("work", {"limit": random.choice((1, 1, 2, 5)), "wait": random.choice((0, 1, 5)),
                                   "takes": self._pause(), "does": does}))  # fmt: skip
        return Actor(f"worker{number}", "worker", tuple(steps))

    def _program(self) -> Actor:
        random = self.random
        options = {"seconds": random.uniform(2, 12), "concurrency": random.choice((1, 3)), "takes": self._pause(),
                   "fails": random.choice((0, 0, 3))}  # fmt: skip
        return Actor("program", "program", (("run", options),))

    def _operator(self) -> Actor:
        random = self.random
        steps: list[Step] = []
        for _ in range(random.randint(1, 4)):
            steps.append(("sleep", {"seconds": self._pause()}))
            verb = random.choice(OPERATIONS)
            options: dict[str, Any] = {}
            if verb in ("cancel", "run now"):
                options = {"id": random.choice(self.ids or ["t0"])}
            elif verb == "plan":
                options = {"every": random.choice((0.5, 2)), "overlap": random.choice(OVERLAPS)}
            steps.append((verb, options))
        return Actor("operator", "operator", tuple(steps))

    def _owner(self, number: int) -> Actor:
        random = self.random
        steps: list[Step] = []
        for _ in range(random.randint(1, 4)):
            first, second = random.sample(("red", "blue", "green"), 2)
            options: dict[str, Any] = {"resource": first, "mode": self._mode(), "for": self._pause(),
                                       "wait": random.choice((0, 2, 10)), "ttl": random.choice((1, 3, 30))}  # fmt: skip
            if random.random() < 0.4:
                options |= {"then": second, "then_mode": self._mode()}
            if random.random() < 0.1:
                options["forgets"] = True
            if random.random() < 0.15:
                options["then_shared"] = True
            kind = random.choices(("hold", "hold both", "use"), (6, 2, 2))[0]
            steps.append((kind, options))
            if random.random() < 0.4:
                steps.append(("sleep", {"seconds": self._pause()}))
        return Actor(f"owner{number}", "owner", tuple(steps))

    def _mode(self) -> str:
        return self.random.choice(("exclusive", "exclusive", "shared"))

    def _pause(self) -> float:
        return pause(self.random)

    def _faults(self, actors: list[Actor]) -> Iterable[Fault]:
        random = self.random
        for _ in range(random.choice((0, 1, 1, 2, 3, 5))):
            kind, least, most = random.choice(TO_A_HOST)
            amount = round(random.uniform(least, most) * random.random(), 4)
            yield Fault(kind, random.choice(actors).name, random.randint(1, 12), amount)
        if random.random() < 0.25:
            kind, least, most = random.choice(AT_ANY_TIME)
            at = round(random.choice((0.02, 0.5, 5)) * random.random(), 5)
            yield Fault(kind, random.choice(actors).name, at, round(random.uniform(least, most) * random.random(), 4))
        if random.random() < 0.25:
            kind = random.choices(TO_THE_SERVER, (4, 3, 2, 1, 1))[0]
            yield Fault(kind, at=round(random.choice((0.02, 0.5, 5)) * random.random(), 4),
                        amount=round(random.choice((0.01, 1, 6)) * random.random(), 4))  # fmt: skip
