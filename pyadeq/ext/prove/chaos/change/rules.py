"""Rules about changes: who approves them, what is applied and by whom, and what calls have done in the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.change.calls import OF_A_REVISION, REMEMBERED, ChangeCalls, Effect
from pyadeq.ext.prove.chaos.change.tale import DECISIONS, ENDED, RUN_ENDS, Approval, ChangeTale, Life, Run
from pyadeq.ext.prove.chaos.history import Op, Records

TIME = "time"  # who has done what was due
NO_CALLER = (TIME, "delegation")
REPEATED = ("now", "deadline")  # of an answer, what is not the same when the call is sent again


class Told:
    """The stream and the calls of the change domain of a history. cut: the stream begins late, or was not read."""

    def __init__(self, case: Case) -> None:
        records = case.history.nouns.get("change", Records())
        self.records = records
        self.tale = ChangeTale(records.entries)
        self.calls = ChangeCalls(case.history.ops)
        self.stepped = self.tale.stepped or "clock_back" in case.calls.marked
        self.cut = records.trimmed > 0 or "change" not in case.history.nouns
        self.policies: dict[str, dict[str, Any]] = {**records.final.get("policies", {}), **self.calls.policies}

    @property
    def lives(self) -> list[Life]:
        """All changes whose creation the stream has: of others it may not have all votes."""
        return [life for lives in self.tale.lives.values() for life in lives if life.born is not None]

    def writers(self, life: Life, actors: frozenset[str] | set[str]) -> set[str]:
        """Actors who have written a change, and the people who answer for them."""
        people = set(actors)
        for actor in actors:
            people |= self.calls.principals.get((life.id, actor), set())
        return people


def approved_by_enough(case: Case, found: Finding) -> None:
    """If people approve a change, enough of them have approved this revision in this round, and none has written it.

    They are different people, each in a slot, and no request for changes is open. An agent votes if its policy lets it.
    """
    told = case.view(Told)
    for life in told.lives:
        for one in life.approvals:
            if _by_people(one):
                found.checks += 1
                _check_votes(told, life, one, found)


def _by_people(one: Approval) -> bool:
    return not one.entry.words["by"].startswith(("policy:", "override:"))


def _check_votes(told: Told, life: Life, one: Approval, found: Finding) -> None:
    policy, at = told.policies.get(one.policy), one.entry.position
    approving = {slot: vote for slot, vote in one.votes.items() if vote.action == "approve"}
    people = [vote.person for vote in approving.values()]
    if policy is not None and len(people) < int(policy["required"]):
        found.convict(
            life.id, f"approved at {at} by {len(people)} people, and {one.policy} requires {policy['required']}"
        )
    if len(set(people)) < len(people):
        found.convict(life.id, f"approved at {at}, and one person fills two slots: {', '.join(sorted(people))}")
    if any(vote.action == "request_changes" for vote in one.votes.values()):
        found.convict(life.id, f"approved at {at}, and a reviewer still wants changes")
    for slot, vote in approving.items():
        words = vote.entry.words
        if (int(words["rev"]), int(words["round"])) != (one.rev, one.round.number):
            text = f"approved at {at} as revision {one.rev} in round {one.round.number}"
            found.convict(life.id, f"{text}, and slot {slot} has approved {words['rev']} in {words['round']}")
        if policy is None:
            continue
        if vote.by != vote.person and not policy.get("agents_may_vote"):
            found.convict(life.id, f"approved at {at}, and {vote.by} is an agent, which {one.policy} does not let vote")
        concerned = {vote.by, vote.person, *one.round.chains.get(slot, ())}
        if not policy.get("contributors_may_vote") and (own := concerned & told.writers(life, one.writers)):
            found.convict(life.id, f"approved at {at}, and {', '.join(sorted(own))} of slot {slot} has written it")


def decided_once(case: Case, found: Finding) -> None:
    """A round of review is decided once, and after its decision only a new round decides again. Rounds only rise."""
    told = case.view(Told)
    decided: Counter[tuple[int, int]] = Counter()
    for number, life in enumerate(told.lives):
        for one in life.approvals:
            decided[number, one.round.number] += 1
            found.checks += 1
            if decided[number, one.round.number] > 1 or len(one.round.decided) > 1:
                found.convict(life.id, f"round {one.round.number} is decided again at {one.entry.position}")
    for id, entry, before in told.tale.wrong_round:
        found.convict(id, f"{entry.event} at {entry.position} is of round {entry.words['round']}, after round {before}")
    for odd in told.tale.odd:
        if odd.entry.event in DECISIONS:
            found.convict(odd.id, str(odd))


def applied_as_approved(case: Case, found: Finding) -> None:
    """What is applied is what was approved: its revision and its digest, which clients compute from the content."""
    told = case.view(Told)
    for life in told.lives:
        for run in life.runs:
            found.checks += 1
            _check_revision(life, run, found)
    for odd in told.tale.odd:
        if odd.entry.event == "change.applying" and odd.state not in ENDED | {"applying"}:
            found.convict(odd.id, str(odd))
    for (id, rev), named in told.calls.digests.items():
        if len(told.tale.lives.get(id, ())) > 1:
            continue  # which of the changes with this id is it?
        found.checks += 1
        ops = list(named.values())
        if len(named) > 1 and not any(case.calls.is_exposed(op) for op in ops):
            text = f"revision {rev} has digest {next(iter(named))} for {ops[0].client} ({ops[0].verb})"
            found.convict(id, f"{text}, and {list(named)[1]} for {ops[1].client} ({ops[1].verb})")


def _check_revision(life: Life, run: Run, found: Finding) -> None:
    words = run.begun.words
    if run.approved is None:
        found.convict(life.id, f"begun at {run.begun.position}, and nobody has approved it")
        return
    approved = run.approved.words
    if (words["rev"], words["round"]) != (approved["rev"], approved["round"]):
        text = f"begun at {run.begun.position} as revision {words['rev']} in round {words['round']}"
        found.convict(life.id, f"{text}, and revision {approved['rev']} was approved in round {approved['round']}")


def runs_apart(case: Case, found: Finding) -> None:
    """Two appliers never hold one change: a run begins when the one before has ended, or its lease has."""
    told = case.view(Told)
    for odd in told.tale.odd:
        if odd.entry.event == "change.applying" and odd.state == "applying":
            found.convict(odd.id, str(odd))
    known = {begun.fence: begun for begun in told.calls.begun.values()}
    fences: dict[int, str] = {}
    for life in told.lives:
        highest = 0
        for run in life.runs:
            found.checks += 1
            if run.fence <= highest or fences.setdefault(run.fence, life.id) != life.id:
                found.convict(life.id, f"begun at {run.begun.position} under fence {run.fence}, which is not a new one")
            highest = max(highest, run.fence)
            begun, end = known.get(run.fence), run.ends[0] if run.ends else None
            if end is None or begun is None or begun.id != life.id or end.words["by"] != TIME or told.stepped:
                continue
            if end.ms < round(begun.deadline * 1000) and not case.calls.is_exposed(begun.op):
                text = f"taken back from {begun.op.client} at {end.ms} by {end.position}"
                found.convict(life.id, f"{text}, before its deadline {round(begun.deadline * 1000)}")
    _by_clients(case, told, found)


def _by_clients(case: Case, told: Told, found: Finding) -> None:
    """Two runs whose ends were both accepted were not at the same time: between begin's answer and finish's call."""
    spans: defaultdict[str, list[tuple[float, float, str, str]]] = defaultdict(list)
    asked: dict[str, float] = {}
    for one in told.calls.finished:
        asked[one.token] = min(one.op.began, asked.get(one.token, one.op.began))
    for one in told.calls.finished:
        if one.begun and one.begun.op.ended is not None and not case.calls.is_exposed(one.begun.op):
            spans[one.id].append((one.begun.op.ended, asked[one.token], one.token, one.op.client))
    for id, held in spans.items():
        held.sort()
        for (_, until, token, client), (since, _, other, second) in pairwise(held):
            if token != other and since < until:
                found.convict(id, f"{client} and {second} applied it at the same time, and both reported its end")


def applied_once(case: Case, found: Finding) -> None:
    """An approval that was finished is never begun again, and a run ends once."""
    told = case.view(Told)
    for life in told.lives:
        found.checks += bool(life.runs)
    for odd in told.tale.odd:
        if odd.entry.event in RUN_ENDS or (odd.entry.event == "change.applying" and odd.state in ENDED):
            found.convict(odd.id, str(odd))


def fails_closed(case: Case, found: Finding) -> None:
    """Without people a change is approved only as its policy says: of low risk, or by an override, which leaves a mark.

    So a timeout rejects. A request is delegated in no circle, and not by more people than the policy allows.
    """
    told = case.view(Told)
    finals = told.records.final.get("changes", {})
    for life in told.lives:
        for one in life.approvals:
            by = one.entry.words["by"]
            if by.startswith("policy:"):
                found.checks += 1
                _check_policy(told, life, one, found)
            elif by.startswith("override:"):
                found.checks += 1
                mark = finals.get(life.id)
                if one.round.overridden is None:
                    found.convict(life.id, f"approved at {one.entry.position} by {by}, and no event tells of it")
                elif mark is not None and life is told.tale.life(life.id) and not mark.get("overridden_rev"):
                    found.convict(life.id, f"approved at {one.entry.position} by {by}, and its record has no mark")
            for slot, chain in one.round.chains.items():
                found.checks += 1
                policy = told.policies.get(one.policy, {})
                if len(set(chain)) < len(chain) or len(chain) > int(policy.get("delegation_depth", 3)):
                    found.convict(life.id, f"slot {slot} was delegated by {' > '.join(chain)}")


def _check_policy(told: Told, life: Life, one: Approval, found: Finding) -> None:
    policy, at = told.policies.get(one.policy), one.entry.position
    if one.entry.words["by"] != f"policy:{one.policy}":
        found.convict(life.id, f"approved at {at} by {one.entry.words['by']}, and its policy is {one.policy}")
    if one.asked and not one.round.waits:
        found.convict(life.id, f"approved at {at} by its policy, and people had been asked before")
    if policy is None:
        return
    score = 101 if one.score is None else one.score
    below = int(policy.get("auto_below") or 0)
    if one.round.waits:
        approves = policy.get("on_timeout") == "approve"
        below = int(policy.get("timeout_approve_below") or 0) if approves else 0
    if score >= below:
        how = "after its timeout" if one.round.waits else "at once"
        risk = "which nobody has assessed" if one.score is None else f"with risk {score}"
        found.convict(life.id, f"approved at {at} {how} by {one.policy}, {risk}, which does not let it pass")


def change_answers_kept(case: Case, found: Finding) -> None:
    """What an answer says that a call has done, the stream tells.

    Across a restart, a power cut or a failover: if it was confirmed at a durability that survives this.
    """
    told = case.view(Told)
    if told.cut:
        return
    count = _count(told)
    for effect, done in _promised(told).items():
        found.checks += 1
        missing = len(done) - count[effect]
        if missing > 0:
            done.sort(key=lambda op: not case.calls.is_exposed(op))
            for op in done[:missing]:
                found.lose(op, effect.id, f"{op.client} was told of {_words(effect)}, and no event has it")
    fences = {(life.id, run.fence) for life in told.lives for run in life.runs}
    for begun in told.calls.begun.values():
        found.checks += 1
        if (begun.id, begun.fence) not in fences:
            found.lose(
                begun.op, begun.id, f"{begun.op.client} has begun it under fence {begun.fence}, and no event has it"
            )


def one_effect(case: Case, found: Finding) -> None:
    """A call that is sent again has the effect of one call, and gets the same answer.

    So for each effect in the stream there is a call of its own that has caused it: also after a restart, because what a
    call has done, its event and the memory of its rid are lost together.
    """
    told = case.view(Told)
    _same_answers(case, told, found)
    if told.cut:
        return
    possible: defaultdict[Effect, Counter[str]] = defaultdict(Counter)
    for effect, op, times in _times(told):
        _add(possible[effect], op, times, told)
    for effect, count in _count(told).items():
        found.checks += 1
        calls = sum(possible[effect].values()) if effect in possible else 0
        if count > calls:
            found.convict(effect.id, f"{_words(effect)} happened {count} times, and {calls} calls can have caused it")


def _same_answers(case: Case, told: Told, found: Finding) -> None:
    for (verb, _), ops in told.calls.again.items():
        answered = [op for op in ops if op.outcome == "ok"]
        for op in answered[1:]:
            first = answered[0]
            if case.calls.is_exposed(first) or _span([first, op]) > REMEMBERED:
                continue
            found.checks += 1
            if _lasting(first.answer) != _lasting(op.answer):
                text = f"{verb} of {op.client} was answered {first.answer['status']!r} and, sent again"
                found.convict(op.asked.get("id", verb), f"{text}, {op.answer['status']!r}, or with other fields")


def _lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in REPEATED}


def _span(ops: list[Op]) -> float:
    return max(op.began if op.ended is None else op.ended for op in ops) - min(op.began for op in ops)


def _times(told: Told) -> Iterator[tuple[Effect, Op, int]]:
    """How often a call may have an effect: more than once if several of its items say the same."""
    for op, done in groupby(told.calls.done, key=lambda one: one.op):
        for effect, times in Counter(one.effect for one in done).items():
            yield effect, op, times


def _add(calls: Counter[str], op: Op, times: int, told: Told) -> None:
    """Count the effects of a call, and those of one that is sent again just once, while the server remembers it."""
    rid = op.asked.get("rid") or str(id(op))
    ops = told.calls.again.get((op.verb, rid), [op])
    calls[rid] = max(calls[rid], times * (len(ops) if _span(ops) > REMEMBERED else 1))


def _count(told: Told) -> Counter[Effect]:
    """The effects of calls in the stream, of clients whose calls are known."""
    found: Counter[Effect] = Counter()
    possible = {one.effect.event for one in told.calls.done}
    for entry in told.records.entries:
        words, event = entry.words, entry.event
        if (
            event not in possible
            or (entry.source and entry.source not in told.calls.clients)
            or words["by"] in NO_CALLER
        ):
            continue
        rev = int(words["rev"]) if event in OF_A_REVISION else 0
        action = words["action"] if event == "change.answered" else ""
        found[Effect(event, entry.ids[0], words["by"], rev, action)] += 1
    return found


def _promised(told: Told) -> dict[Effect, list[Op]]:
    """Return the calls whose answers have promised an effect, by the effect. Each call is there once."""
    found: defaultdict[Effect, dict[str, Op]] = defaultdict(dict)
    for one in told.calls.done:
        if one.sure:
            found[one.effect].setdefault(one.op.asked.get("rid") or str(id(one.op)), one.op)
    return {effect: list(ops.values()) for effect, ops in found.items()}


def _words(effect: Effect) -> str:
    rev = f" for revision {effect.rev}" if effect.rev else ""
    return f"{effect.event} by {effect.by}{rev}{f' ({effect.action})' if effect.action else ''}"
