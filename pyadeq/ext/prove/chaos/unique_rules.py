"""Rules about what is there only once: an id, an idempotency key, a unique key, a scope."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import inf

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.tale import Life

DAY = 86_400.0


def one_per_id(case: Case, found: Finding) -> None:
    """An id is that of one task until its record is deleted: a second enqueue makes none, and answers `exists`."""
    for odd in case.tale.odd:
        if odd.entry.event == "task.enqueued":
            found.convict(odd.id, str(odd))
    calls: defaultdict[str, set[object]] = defaultdict(set)
    exposed: set[str] = set()
    for made in case.calls.created:
        found.checks += 1
        # The same call, made again under its rid, answers the same.
        calls[made.id].add(made.options.get("rid") or made.op.asked.get("rid") or id(made.op))
        if case.calls.is_exposed(made.op):
            exposed.add(made.id)
    for task, made_by in calls.items():
        lives = case.tale.lives.get(task, ())
        if len(made_by) > max(len(lives), 1) and task not in exposed and not case.tale.cut:
            text = f"{len(made_by)} calls were told 'created', and it was enqueued {len(lives)} times"
            found.convict(task, text)


def one_per_key(case: Case, found: Finding) -> None:
    """Under an idempotency key one task is made in a day, or what the queue's setting says, even if it has ended."""
    if case.stepped:
        return  # it may be another day
    keep_ms = case.history.settings.get("idempotency", DAY) * 1000
    for key, lives in _lives_by(case, "idempotency_key").items():
        found.checks += len(lives)
        for one, other in pairwise(lives):
            if one.born is None or other.born is None or one.purged or one.id in case.removals:
                continue  # who deletes a task may delete its key
            if other.born.ms - one.born.ms < keep_ms:
                found.convict(key, f"{one.id} was made under it at {one.born.ms}, and {other.id} at {other.born.ms}")


def one_per_unique(case: Case, found: Finding) -> None:
    """Tasks with one unique key wait or run one at a time."""
    for key, lives in _lives_by(case, "unique").items():
        spans = [(since, until, life) for life in lives for since, until in life.spans]
        _apart(key, spans, found)


def one_per_scope(case: Case, found: Finding) -> None:
    """Tasks with one scope wait for their first lease one at a time."""
    for key, lives in _lives_by(case, "scope").items():
        spans = [
            (since, min(until, claimed), life)
            for life in lives
            for (since, until), claimed in zip(life.spans, life.first_claims, strict=True)
        ]
        _apart(key, spans, found)


def _apart(key: str, spans: list[tuple[float, float, Life]], found: Finding) -> None:
    found.checks += len(spans)
    spans.sort(key=lambda span: span[0])
    last, holder = -inf, None
    for since, until, life in spans:
        if holder is not None and since < last and holder.id != life.id:
            found.convict(key, f"{life.id} was there while {holder.id} was")
        if until > last:
            last, holder = until, life


def _lives_by(case: Case, option: str) -> dict[str, list[Life]]:
    """The tasks of each key, in the order of the stream. One whose id was used again is left out: whose key is it?"""
    by_key: defaultdict[str, list[Life]] = defaultdict(list)
    for id, options in case.calls.options.items():
        key = options.get(option) if options else None
        if key is None:
            continue
        lives = case.tale.lives.get(id, ())
        if len(lives) == 1 and lives[0].born is not None:
            by_key[key].append(lives[0])
    for lives_of in by_key.values():
        lives_of.sort(key=lambda life: life.spans[0][0])
    return by_key
