"""Refunds: rules approve small ones, one or two persons approve the others. With --ask, you are the person."""

import os
import sys
from functools import partial

from pyadeq import Adeq, CannotApply, Changes, InboxEntry, Result
from pyadeq.ids import new_ulid


def set_up(changes: Changes) -> None:
    """Store who has to approve. An operator does this once."""
    changes.configure(auto_approve_low_risk=True)
    policy = partial(
        changes.policies.set,
        reviewers=["user:bob", "group:finance"],
        needs="risk",  # the rules assess it before people are asked
        auto_below=10,  # a risk below 10 needs no person
        escalate=3600,  # after an hour without an answer, the boss is asked, too
        escalate_to=["user:boss"],
        timeout=86_400,  # after a day without an answer, it is rejected
    )
    policy("one-person", required=1)
    policy("two-persons", required=2)


def request(changes: Changes, order: str, euros: int) -> str:
    """Request a refund as the clerk ann."""
    id = f"{order}-{new_ulid()}"
    draft = changes.put(
        id,
        type="refund",
        description=f"{euros} EUR for order {order}",
        parameters={"order": order, "euros": euros},
        actor="ann",
    )
    changes.submit(draft, policy="two-persons" if euros > 1000 else "one-person", actor="ann")
    assess(changes, draft, euros)
    return id


def assess(changes: Changes, draft: Result, euros: int) -> None:
    """Let the rules assess a revision. rita answers for them."""
    risk = min(euros // 20, 100)
    changes.assess(draft, score=risk, auto_approvable=True, assessed_by="rules 7", actor="rules", principal="rita")


def correct(changes: Changes, id: str, euros: int) -> None:
    """Write another revision of a refund. Answers to the revision before do not count for it."""
    if change := changes.get(id):
        content = {**change.parameters, "euros": euros}
        draft = changes.revise(change, description=f"{euros} EUR, corrected", parameters=content, actor="ann")
        assess(changes, draft, euros)


def inbox(changes: Changes, person: str, *groups: str) -> list[InboxEntry]:
    """Return what waits for an answer of this person."""
    return list(changes.iterate_inbox(person, groups=groups))


def answer(changes: Changes, entry: InboxEntry, yes: bool, person: str, *groups: str) -> None:
    """Answer what the person has read."""
    say = changes.approve if yes else changes.reject
    status = say(entry, actor=person, groups=groups, reason="compared with the invoice").status
    print(f"{person} {'approves' if yes else 'rejects'} {entry.description!r}: {status}")


def pay(changes: Changes, id: str) -> None:
    """Pay a refund. One program at a time begins, once, and only with what people have approved."""
    try:
        with changes.apply(id, agent=f"payer-{os.getpid()}") as run:
            run.check()  # ChangeStopped or ChangeLost: do not pay
            print(f"paid {run.content.parameters['euros']} EUR; its key at the bank is {run.id[:2]}…")
    except CannotApply as error:
        print(f"not paid: {error.status}, {error.answer.fields['state']}")


def main(adeq: Adeq) -> None:
    """Play it through."""
    changes = adeq.changes("refunds")
    set_up(changes)
    small, middle, large, odd = [request(changes, *what) for what in (("a", 20), ("b", 400), ("c", 5000), ("d", 900))]
    if "--ask" in sys.argv:
        for entry in inbox(changes, "bob"):
            answer(changes, entry, input(f"{entry.description}? [y/n] ") == "y", "bob")
    else:
        read = {entry.id: entry for entry in inbox(changes, "bob")}
        correct(changes, middle, 300)
        answer(changes, read[middle], True, "bob")
        answer(changes, read[large], True, "bob")
        answer(changes, read[odd], False, "bob")
        for entry in inbox(changes, "cleo", "finance"):
            answer(changes, entry, True, "cleo", "finance")
    for id in (small, middle, large, odd, large):
        pay(changes, id)


if __name__ == "__main__":
    url = os.environ.get("ADEQ_URL")  # without it, a private server that ends with this program
    with Adeq.from_url(url) if url else Adeq.embedded() as adeq:
        main(adeq)
