"""Rules about sessions: when they are valid, who may use them, and what updates leave."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import Op
from pyadeq.ext.prove.chaos.session.logins import GONE, READ, VALID, End, Login, Logins, Use, now_in

FOLLOWED = 5  # rotations from an older id to the newest: the server follows no more


def ended_sessions_stay(case: Case, found: Finding) -> None:
    """A session that was ended is never valid again, for any call that began after the end was acknowledged.

    Also: an id whose session was answered as gone stays so, and so does an older id after a rotation without grace.
    """
    for login in case.view(Logins).all:
        first: dict[
            tuple[int, bool], End
        ] = {}  # by turn, the first end of its id, of those that may be lost and others
        for end in sorted(_lasting(case, login), key=lambda end: end.op.ended or 0.0):
            for turn in range(end.turn + 1):
                first.setdefault((turn, case.calls.is_exposed(end.op)), end)
        for use in login.uses:
            if use.what not in VALID:
                continue
            found.checks += 1
            ends = (first.get((use.turn, exposed)) for exposed in (False, True))
            before = next((end for end in ends if end and (end.op.ended or 0.0) < use.op.began), None)
            if before:
                text = f"{use.op.client} was told {use.what!r} at {use.op.began:.3f}, after {before.op.client} was told"
                found.lose(before.op, login.handle, f"{text} of its end by {before.op.verb}")
                break  # said once


def _lasting(case: Case, login: Login) -> Iterator[End]:
    """The ends that were acknowledged. What only shows an end that another call made may be lost with that call."""
    for end in login.ends:
        if end.sure and not end.after and not (end.shown and case.calls.is_unsure(end.op)):
            yield end


def created_sessions_found(case: Case, found: Finding) -> None:
    """A session that was created is found until it ends: by a call, by a limit, or by its times.

    So is the new id of a rotated session, and the older one for as long as its grace lasts.
    """
    logins = case.view(Logins)
    for login in logins.all:
        for use in login.uses:
            if use.what not in GONE:
                continue
            found.checks += 1
            if any(_explains(logins, login, end, use) for end in login.ends) or _is_over(case, logins, login, use):
                continue
            if _is_over_limit(logins, login, use.op) or _is_too_old(login, use):
                continue
            made = sorted(login.made[: use.turn + 1], key=lambda op: not case.calls.is_exposed(op))
            text = f"{use.op.client} was told {use.what!r} at {use.op.began:.3f}, and nothing has ended it"
            found.lose(made[0], login.handle, text)
            break  # said once


def _explains(logins: Logins, login: Login, end: End, use: Use) -> bool:
    """Whether a call may have ended a session for an id."""
    if end.shown or end.turn < use.turn or end.op.began > (use.op.ended or 0.0):
        return False
    times = logins.clock(login)
    if not (end.after and end.sure) or times is None:
        return True
    return now_in(use) >= times.since(end.op) + end.after


def _is_over(case: Case, logins: Logins, login: Login, use: Use) -> bool:
    """Whether a time of the session may be over, by the server's clock. Its last use is stored to a tenth of `idle`."""
    if logins.clock(login) is None:
        return True
    active = login.created_ms
    for touch in login.touches:
        if touch.what in READ and (touch.op.ended or 0.0) < use.op.began and not case.calls.is_unsure(touch.op):
            active = max(active, now_in(touch))
    idle = login.idle_ms - min(60_000, login.idle_ms // 10)
    return now_in(use) >= min(login.ends_ms, active + idle)


def _is_over_limit(logins: Logins, login: Login, op: Op) -> bool:
    """Whether another login may have ended the session, because the user had as many as allowed."""
    made = [one for one in logins.creates[login.user] if one.began <= (op.ended or 0.0)]
    limits = [one.asked.get("limit", 1000) for one in made if one.asked.get("when_full") != "refuse"]
    return len(made) > min(limits, default=len(made))


def _is_too_old(login: Login, use: Use) -> bool:
    """Whether an id may have been rotated so often that the server does not find its session any more."""
    return sum(op.began <= (use.op.ended or 0.0) for op in login.made[use.turn + 1 :]) > FOLLOWED


def old_ids_only_read(case: Case, found: Finding) -> None:
    """After a rotation the older id only reads, as `rotated`. It changes nothing, and learns no newer id."""
    for login in case.view(Logins).all:
        for use in login.uses:
            if use.turn == login.newest:
                continue
            rotated = login.made[use.turn + 1]
            if rotated.ended is None or rotated.ended > use.op.began:
                continue
            found.checks += 1
            if use.what in ("get ok", "update ok", "rotate ok"):
                text = f"{use.op.client} was told {use.what!r} with an older id"
                found.lose(rotated, login.handle, f"{text}, after {rotated.client} had rotated it")
            if not set(login.hashes[use.turn + 1 :]).isdisjoint(_values(use.op.answer)):
                found.convict(login.handle, f"{use.op.client} was told a newer id by {use.op.verb} with an older one")


def _values(answer: object) -> Iterator[object]:
    if isinstance(answer, dict):
        for value in answer.values():
            yield from _values(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _values(value)
    else:
        yield answer


def session_limit_kept(case: Case, found: Finding) -> None:
    """When a session is created, its user has not more than the limit, of those that a later read has found valid."""
    logins = case.view(Logins)
    of_user: defaultdict[str, list[Login]] = defaultdict(list)
    for login in logins.all:
        if logins.clock(login) is not None:
            of_user[login.user].append(login)
    for own in of_user.values():
        valid: list[int] = []  # until when others are known to be valid
        new: list[
            tuple[int, int]
        ] = []  # others that were just created, when, and until when they are known to be valid
        for login in sorted(own, key=lambda login: login.created_ms):
            while new and new[0][0] < login.created_ms:  # of the same ms, nobody knows which came first
                heapq.heappush(valid, heapq.heappop(new)[1])
            while valid and valid[0] <= login.created_ms:
                heapq.heappop(valid)
            made = login.made[0]
            limit = made.asked.get("limit", 1000)
            found.checks += 1
            if len(valid) >= limit and not case.calls.is_exposed(made):
                text = f"{made.client} has created it for {login.user}, who has {len(valid)} other valid sessions"
                found.convict(login.handle, f"{text}, and may have {limit} in all")
            if until := max((now_in(use) for use in login.uses if use.what in READ), default=0):
                heapq.heappush(new, (login.created_ms, until))


def updates_kept(case: Case, found: Finding) -> None:
    """An update that named the `ver` that it had read is never lost, nor overwritten by one that named an older `ver`.

    Of two updates of the same `ver` only one is done. Later reads show its data, or a later `ver`.
    """
    for login in case.view(Logins).all:
        done: defaultdict[int, list[Op]] = defaultdict(list)  # by the ver that the update has made
        for use in login.uses:
            if use.what != "update ok":
                continue
            found.checks += 1
            ver = use.op.answer["ver"]
            if done[ver]:
                first = done[ver][-1]
                text = f"{first.client} and {use.op.client} were both told that their updates made ver {ver}"
                found.lose(first, login.handle, text)
            done[ver].append(use.op)
        if done:
            _check_reads(login, done, found)


def _check_reads(login: Login, done: dict[int, list[Op]], found: Finding) -> None:
    acknowledged = sorted((op.ended or 0.0, ver) for ver, ops in done.items() for op in ops)
    at, newest = 0, 0
    for use in login.uses:  # in the order in which they began
        while at < len(acknowledged) and acknowledged[at][0] < use.op.began:
            newest = max(newest, acknowledged[at][1])
            at += 1
        if not use.record:
            continue
        found.checks += 1
        ver, data = use.record["ver"], use.record.get("data")
        if ver < newest:
            text = f"{use.op.client} was shown ver {ver} at {use.op.began:.3f}"
            found.lose(done[newest][0], login.handle, f"{text}, after ver {newest} was acknowledged")
            newest = ver  # said once
        wrote = [op.asked["item"][0].get("data") for op in done.get(ver, ())]
        if wrote and data not in wrote and None not in wrote:
            text = f"{use.op.client} was shown {data!r} as ver {ver}"
            found.lose(done[ver][0], login.handle, f"{text}, which {done[ver][0].client} has written as {wrote[0]!r}")


def sessions_end_in_time(case: Case, found: Finding) -> None:
    """No session outlives its lifetime, its time without use, or as an older id its grace, by the server's clock.

    A use counts for as long as a second copy of the call may arrive.
    """
    logins = case.view(Logins)
    for login in logins.all:
        times = logins.clock(login)
        if times is None or case.calls.is_exposed(login.made[0]):
            continue
        graces = _graces(case, login)
        touches = [(touch.op, times.latest(touch.op)) for touch in login.touches]
        for use in login.uses:
            if use.what not in READ:
                continue
            found.checks += 1
            now = now_in(use)
            ends_ms, grace = round(use.record["ends"] * 1000), graces.get(use.turn)
            used = [at for op, at in touches if op is not use.op and op.began < (use.op.ended or 0.0)]
            last = max([login.created_ms, *used])
            if now >= login.ends_ms or ends_ms != login.ends_ms:
                _outlives(login, use, f"and it ends at {login.ends_ms}", found)
            elif times.since(use.op) >= last + login.idle_ms:
                _outlives(login, use, f"and was used last at {last:.0f}, which counts for {login.idle_ms} ms", found)
            elif grace is not None and now >= grace:
                _outlives(login, use, f"with an older id, whose grace is over at {grace}", found)


def _graces(case: Case, login: Login) -> dict[int, int]:
    """When the grace of each older id is over at the latest, by turn."""
    graces: dict[int, int] = {}
    for end in login.ends:
        if end.after and end.sure and not case.calls.is_exposed(end.op):
            over = round(end.op.answer["now"] * 1000) + end.after
            for turn in range(end.turn + 1):
                graces[turn] = min(over, graces.get(turn, over))
    return graces


def _outlives(login: Login, use: Use, text: str, found: Finding) -> None:
    found.convict(login.handle, f"{use.op.client} was shown it at {now_in(use)}, {text}")
