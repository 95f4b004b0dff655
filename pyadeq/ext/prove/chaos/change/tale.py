"""What the event stream of a change domain tells, change by change.

It is told as it is: an event that cannot happen in the state of the change is noted as odd. What that means, the rules
say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pyadeq.ext.prove.chaos.history import Entry

REVIEW = frozenset({"submitted", "reviewing"})
OPEN = REVIEW | {"draft", "approved"}
ENDED = frozenset({"completed", "failed", "rejected", "cancelled"})
ANY = OPEN | ENDED | {"applying"}
# What an event makes of a change ("": nothing), and in which states it can happen.
STEPS: dict[str, tuple[str, frozenset[str]]] = {
    "change.created": ("draft", frozenset({"gone"})),
    "change.revised": ("", OPEN),
    "change.edited": ("", OPEN),
    "change.submitted": ("submitted", frozenset({"draft"})),
    "change.reviewing": ("reviewing", frozenset({"submitted"})),
    "change.assessed": ("", REVIEW | {"draft"}),
    "change.answered": ("", frozenset({"reviewing", "approved"})),  # an approver may take back an approval
    "change.commented": ("", ANY),
    "change.outdated": ("submitted", REVIEW | {"approved"}),
    "change.overridden": ("", REVIEW),
    "change.approved": ("approved", REVIEW),
    "change.rejected": ("rejected", REVIEW),
    "change.changes_requested": ("", frozenset({"reviewing"})),
    "change.reminded": ("", frozenset({"reviewing"})),
    "change.escalated": ("", frozenset({"reviewing"})),
    "change.delegated": ("", REVIEW),
    "change.reassigned": ("", REVIEW),
    "change.withdrawn": ("draft", REVIEW | {"approved"}),
    "change.reopened": ("draft", frozenset({"failed", "rejected"})),
    "change.cancelling": ("", frozenset({"applying"})),
    "change.cancelled": ("cancelled", OPEN | {"applying"}),
    "change.applying": ("applying", frozenset({"approved"})),
    # A run may still report its end after its lease has ended, as long as no other run has begun.
    "change.released": ("approved", frozenset({"applying", "approved"})),
    "change.completed": ("completed", frozenset({"applying", "approved"})),
    "change.failed": ("failed", frozenset({"applying", "approved"})),
    "change.removed": ("gone", ENDED),
}
DECISIONS = ("change.approved", "change.rejected")
RUN_ENDS = ("change.released", "change.completed", "change.failed", "change.cancelled")


class Vote(NamedTuple):
    """An answer that counts: what a reviewer has answered in a slot."""

    action: str
    by: str
    person: str
    entry: Entry


@dataclass(slots=True)
class Round:
    """A round of review. votes: by slot. chains: who has delegated the request of a slot, the first of them first.

    waits: whether the requests are open, so that people decide.
    """

    number: int
    votes: dict[str, Vote] = field(default_factory=dict)
    chains: dict[str, list[str]] = field(default_factory=dict)
    decided: list[Entry] = field(default_factory=list)
    waits: bool = False
    overridden: Entry | None = None


@dataclass(slots=True)
class Run:
    """A run of an applier. ends: the events that ended it; more than one if it reported its end after its lease."""

    fence: int
    begun: Entry
    approved: Entry | None
    ends: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Approval:
    """A change becomes approved: the round as it was then, the revision, the writers until then, and the risk.

    asked: whether people were asked since the last submit.
    """

    entry: Entry
    round: Round
    votes: dict[str, Vote]
    rev: int
    writers: frozenset[str]
    policy: str
    score: int | None
    asked: bool


@dataclass(slots=True)
class Life:
    """A change from its creation until its record is deleted. writers: the actors who have written it.

    steps: each with its number, its word, and the policy of the change then.
    state: empty if the stream does not tell it.
    born: None if the stream begins later.
    """

    id: str
    born: Entry | None = None
    state: str = ""
    rev: int = 0
    round: Round = field(default_factory=lambda: Round(0))
    writers: set[str] = field(default_factory=set)
    policy: str = ""
    asked: bool = False
    scores: dict[int, int] = field(default_factory=dict)
    approvals: list[Approval] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    steps: list[tuple[int, str, str, Entry]] = field(default_factory=list)
    last: Entry | None = None


class Odd(NamedTuple):
    """An event that cannot happen to a change in that state."""

    id: str
    entry: Entry
    state: str

    def __str__(self) -> str:
        return f"{self.entry.event} at {self.entry.position} while it was {self.state}"


class ChangeTale:
    """All changes. unknown: those that were never created. wrong_round: events of a round that cannot follow."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.lives: dict[str, list[Life]] = {}
        self.odd: list[Odd] = []
        self.unknown: list[Odd] = []
        self.wrong_round: list[tuple[str, Entry, int]] = []
        self.votes: list[Vote] = []
        self.stepped = False
        self.told = False
        latest_ms = 0
        for entry in entries:
            self.stepped |= entry.ms < latest_ms
            latest_ms = entry.ms
            if entry.event in STEPS:
                self.told = True
                self._step(entry.ids[0], entry)

    def life(self, id: str) -> Life | None:
        """The latest change with this id."""
        lives = self.lives.get(id)
        return lives[-1] if lives else None

    def _step(self, id: str, entry: Entry) -> None:
        event, words = entry.event, entry.words
        to, allowed = STEPS[event]
        life = self.life(id)
        if event == "change.created":
            if life is not None and life.state != "gone":
                self.odd.append(Odd(id, entry, life.state))
            life = Life(id, born=entry)
            self.lives.setdefault(id, []).append(life)
        elif life is None:
            self.unknown.append(Odd(id, entry, "unknown"))
            life = Life(id)
            self.lives[id] = [life]
        elif life.state and life.state not in allowed:
            self.odd.append(Odd(id, entry, life.state))
        if event != "change.removed":
            self._count_round(life, entry)
        if note := _NOTES.get(event):
            note(self, life, entry)
        if event != "change.removed":
            life.steps.append((len(life.steps) + 1, event.removeprefix("change."), life.policy, entry))
        # A change that its author has cancelled has no `why`.
        if event in RUN_ENDS and life.runs and ("why" in words or event == "change.completed"):
            life.runs[-1].ends.append(entry)
        life.state, life.last = to or life.state, entry

    def _count_round(self, life: Life, entry: Entry) -> None:
        number = int(entry.words["round"])
        step = entry.event in ("change.submitted", "change.outdated")
        if life.last is not None and number != life.round.number + step:
            self.wrong_round.append((life.id, entry, life.round.number))
        if step or life.last is None:
            kept = life.round.chains if entry.event == "change.outdated" else {}
            life.round = Round(number, chains=kept)

    def _created(self, life: Life, entry: Entry) -> None:
        life.rev = int(entry.words["rev"])
        life.writers.add(entry.words["by"])

    def _submitted(self, life: Life, entry: Entry) -> None:
        life.policy, life.asked = entry.words["policy"], False

    def _reviewing(self, life: Life, _: Entry) -> None:
        life.round.waits = life.asked = True

    def _assessed(self, life: Life, entry: Entry) -> None:
        if "score" in entry.words:
            life.scores[int(entry.words["rev"])] = int(entry.words["score"])

    def _answered(self, life: Life, entry: Entry) -> None:
        words = entry.words
        if words["action"] == "retract":
            life.round.votes.pop(words["slot"], None)
        else:
            vote = Vote(words["action"], words["by"], words.get("for", words["by"]), entry)
            life.round.votes[words["slot"]] = vote
            self.votes.append(vote)

    def _delegated(self, life: Life, entry: Entry) -> None:
        if "chain" in entry.words:  # delegations that were stored lead over several people at once
            life.round.chains[entry.words["slot"]] = [one for one in entry.words["chain"].split(",") if one]
            return
        chain = life.round.chains.setdefault(entry.words["slot"], [])
        to = entry.words["to"].removeprefix("user:")
        if to in chain:  # it was taken back
            del chain[chain.index(to) :]
        else:
            chain.append(entry.words["from"].removeprefix("user:"))

    def _reassigned(self, life: Life, entry: Entry) -> None:
        slot, operation = entry.words["slot"], entry.words["operation"]
        if operation in ("dismiss", "remove"):
            life.round.votes.pop(slot, None)
        if operation in ("move", "remove"):
            life.round.chains.pop(slot, None)

    def _overridden(self, life: Life, entry: Entry) -> None:
        life.round.overridden = entry

    def _decided(self, life: Life, entry: Entry) -> None:
        life.round.decided.append(entry)
        if entry.event == "change.approved":
            score = life.scores.get(life.rev)
            writers = frozenset(life.writers)
            votes = dict(life.round.votes)
            approval = Approval(entry, life.round, votes, life.rev, writers, life.policy, score, life.asked)
            life.approvals.append(approval)

    def _applying(self, life: Life, entry: Entry) -> None:
        approved = life.approvals[-1].entry if life.approvals else None
        life.runs.append(Run(int(entry.words["fence"]), entry, approved))


_NOTES = {
    "change.created": ChangeTale._created,
    "change.revised": ChangeTale._created,
    "change.submitted": ChangeTale._submitted,
    "change.reviewing": ChangeTale._reviewing,
    "change.assessed": ChangeTale._assessed,
    "change.answered": ChangeTale._answered,
    "change.delegated": ChangeTale._delegated,
    "change.reassigned": ChangeTale._reassigned,
    "change.overridden": ChangeTale._overridden,
    "change.approved": ChangeTale._decided,
    "change.rejected": ChangeTale._decided,
    "change.applying": ChangeTale._applying,
}
