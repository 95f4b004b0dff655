"""Rules about what is stored of changes at the end: records, statistics and inboxes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.change.rules import Told

NAMED = {"approve": "approved", "reject": "rejected"}


def change_records_agree(case: Case, found: Finding) -> None:
    """The record of each change is what the stream tells. The statistics count the records, and people's answers."""
    told = case.view(Told)
    final = told.records.final
    if told.cut or not final:
        return
    for odd in told.tale.unknown:
        found.convict(odd.id, f"{odd.entry.event} at {odd.entry.position}, and it was never created")
    for odd in told.tale.odd:
        if odd.entry.event not in SAID_ELSEWHERE:
            found.convict(odd.id, str(odd))
    records: dict[str, dict[str, Any]] = final["changes"]
    for id in records.keys() | told.tale.lives.keys():
        found.checks += 1
        life, record = told.tale.life(id), records.get(id)
        tells = ("gone",) if life is None or life.state == "gone" else (life.state, life.rev, life.round.number)
        stored = ("gone",) if record is None else (record["state"], record["rev"], record["round"])
        if tells != stored:
            found.convict(id, f"it is {_shown(stored)}, and the stream tells that it is {_shown(tells)}")
    states = Counter(record["state"] for record in records.values())
    for state, count in final["states"].items():
        found.checks += 1
        if count != states[state]:
            found.convict(
                state, f"the statistics count {count} changes in this state, and {states[state]} records have it"
            )
    _check_people(told, found)


SAID_ELSEWHERE = {"change.applying", "change.approved", "change.rejected", "change.released", "change.completed",
                  "change.failed", "change.cancelled"}  # fmt: skip


def _shown(one: tuple[Any, ...]) -> str:
    return one[0] if len(one) == 1 else f"{one[0]}, revision {one[1]}, round {one[2]}"


def _check_people(told: Told, found: Finding) -> None:
    """The answers of each person, counted."""
    answered = Counter((vote.by, NAMED.get(vote.action)) for vote in told.tale.votes)
    for user, stats in told.records.final["people"].items():
        for word in NAMED.values():
            found.checks += 1
            if stats[word] != answered[user, word]:
                text = f"the statistics count {stats[word]} requests that {user} has {word}"
                found.convict(user, f"{text}, and the stream tells of {answered[user, word]}")


def inboxes_exact(case: Case, found: Finding) -> None:
    """The inbox of a person shows exactly the open requests that this person can answer, and counts all of them."""
    told = case.view(Told)
    final = told.records.final
    for reviewer, inbox in final.get("inboxes", {}).items():
        found.checks += 1
        unsure = {id for id, record in final["changes"].items() if record.get("due_meanwhile")}
        shown = {(id, slot) for id, slot in inbox["shown"] if id not in unsure}
        person = reviewer.removeprefix("user:") if reviewer.startswith("user:") else ""
        pending, expected = 0, set()
        for id, record in final["changes"].items():
            if record["state"] != "reviewing":
                continue
            for slot, status, asks, _ in record["requests"]:
                if asks == reviewer and status == "pending":
                    pending += 1
                    if id not in unsure and not record["overdue"] and _can_answer(told, id, record, person):
                        expected.add((id, slot))
        for id, slot in sorted(expected - shown):
            found.convict(f"{id}/{slot}", f"{reviewer} can answer it, and its inbox does not show it")
        for id, slot in sorted(shown - expected):
            found.convict(f"{id}/{slot}", f"the inbox of {reviewer} shows it, and there is nothing to answer")
        if person and inbox["pending"] != pending:
            found.convict(
                reviewer, f"its inbox counts {inbox['pending']} requests, and {pending} records ask for an answer"
            )


def _can_answer(told: Told, id: str, record: dict[str, Any], person: str) -> bool:
    life = told.tale.life(id)
    if not person or life is None:
        return True
    policy = told.policies.get(life.policy, {})
    if not policy.get("contributors_may_vote") and person in told.writers(life, life.writers):
        return False
    return all(principal != person for *_, principal in record["requests"])


def changes_at_rest(case: Case, found: Finding) -> None:
    """No run is left behind in the end: if its applier was lost, its lease has ended it."""
    if not case.drained:
        return
    told = case.view(Told)
    for id, record in told.records.final.get("changes", {}).items():
        found.checks += 1
        if record["state"] == "applying":
            found.convict(id, "its run was left behind: it is applying")
    for life in told.lives:
        if life.id not in told.records.final.get("changes", {}) and life.state == "applying":
            found.convict(life.id, "its run was left behind: no event has ended it")
