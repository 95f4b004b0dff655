"""Rules about configs: what writes replace, what reads and snapshots show, and what the history has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.config.writes import Shown, Version, View, Writes, Written, expect_of, value_of
from pyadeq.ext.prove.chaos.history import Op

LISTED = 100  # versions that the history of a name has


def expected_versions_replaced(case: Case, found: Finding) -> None:
    """A write that names a version replaces just that one: of two that name the same, one is done, the other refused.

    What is refused has named another version than the one that was there.
    """
    writes = case.view(Writes)
    first: dict[tuple[str, int], Written] = {}
    for one in writes.written:
        if one.expect is None:
            continue
        found.checks += 1
        before = first.setdefault((one.name, one.expect), one) if one.expect else one
        if before is not one:
            text = f"{before.op.client} and {one.op.client} were both told that they replaced version {one.expect}"
            found.lose(before.op, one.name, text)
        elif (there := _replaced(writes, one)) is not None and there != one.expect:
            found.convict(one.name, f"{one.op.client} replaced version {there}, and named {one.expect}")
    for op in writes.sets:
        if op.answer.get("status") == "conflict":
            found.checks += 1
            pairs = zip(op.asked["item"], op.answer["items"], strict=True)
            if all(expect_of(item) in (None, told["version"]) for item, told in pairs):
                found.convict(
                    op.asked["item"][0]["name"], f"{op.client} was refused, and named the versions there were"
                )


def _replaced(writes: Writes, one: Written) -> int | None:
    """The version that the stream has before a write, 0 if there was no value; None if it is not known."""
    own = writes.of_name[one.name]
    at = next((at for at, version in enumerate(own) if version.version == one.version), None)
    if writes.stream is None or at is None:
        return None
    return 0 if at == 0 or own[at - 1].removed else own[at - 1].version


def config_revs_rise(case: Case, found: Finding) -> None:
    """The rev of a write is higher than all before it. The names of one call, and no others, have the same version."""
    writes = case.view(Writes)
    for before, version in pairwise(writes.stream or ()):
        found.checks += 1
        is_same_call = version.version == before.version and version.actor == before.actor
        if version.version <= before.version and not is_same_call:
            found.convict(version.name, f"version {version.version} was written after version {before.version}")
    done = {one.version: one.op for one in writes.written}
    ended = sorted((op.ended or 0.0, rev) for rev, op in done.items())
    at, highest = 0, 0
    for rev, op in sorted(done.items(), key=lambda one: one[1].began):
        while at < len(ended) and ended[at][0] < op.began:
            highest = max(highest, ended[at][1])
            at += 1
        found.checks += 1
        if rev < highest:
            text = f"{op.client} was told rev {rev} at {op.began:.3f}, after {done[highest].client} was told {highest}"
            found.lose(done[highest], op.asked["item"][0]["name"], text)


def config_writes_once(case: Case, found: Finding) -> None:
    """A call writes each of its names once, all with one version, or none; and the stream has what its answer says."""
    writes = case.view(Writes)
    if writes.stream is None:
        return
    stored = {(one.name, one.version): one.removed for one in writes.stream}
    for one in writes.written:
        found.checks += 1
        if stored.get((one.name, one.version)) is not (one.value is None):
            text = f"{one.op.client} was told that it wrote version {one.version}, which the stream has not"
            found.lose(one.op, one.name, text)
    own = writes.by_actor()
    effects: defaultdict[str, list[Version]] = defaultdict(list)
    for version in writes.stream:
        if version.actor in own:
            effects[version.actor].append(version)
    for actor, versions in effects.items():
        found.checks += 1
        if what := _wrong(own[actor], versions):
            found.lose(own[actor], versions[0].name, f"the call of {actor} {what}")


def _wrong(op: Op, versions: list[Version]) -> str:
    """What is wrong with the effects of a call; nothing if they are what it asks."""
    wanted = {item["name"]: value_of(item) is None for item in op.asked["item"]}
    if len({one.version for one in versions}) > 1:
        return f"has written the versions {[one.version for one in versions]}"
    names = [one.name for one in versions]
    if len({*names}) < len(names) or any(wanted.get(one.name) is not one.removed for one in versions):
        return f"has written {names}"
    missing = {name for name, removed in wanted.items() if not removed} - {*names}
    if missing:
        return f"has not written {sorted(missing)}, and has written {names}"
    if op.answer and op.answer["status"] != "ok":
        return f"has written {names}, and was told {op.answer['status']!r}"
    return ""


def config_reads_current(case: Case, found: Finding) -> None:
    """A read shows no older version than one that anybody knew from an answer before the read began."""
    writes = case.view(Writes)
    known: defaultdict[str, list[tuple[float, int, Op]]] = defaultdict(list)
    for one in writes.written:
        known[one.name].append((one.op.ended or 0.0, one.version, one.op))
    for shown in writes.shown:
        if shown.version and not writes.is_unsure(shown.op):
            known[shown.name].append((shown.op.ended or 0.0, shown.version, shown.op))
    shown_of: defaultdict[str, list[Shown]] = defaultdict(list)
    for shown in writes.shown:
        shown_of[shown.name].append(shown)
    for name, reads in shown_of.items():
        facts = sorted(known[name], key=lambda fact: fact[0])
        at = 0
        newest: dict[bool, tuple[int, Op]] = {}  # the newest version that may be lost, and that may not
        for shown in sorted(reads, key=lambda shown: shown.op.began):
            while at < len(facts) and facts[at][0] < shown.op.began:
                _, version, op = facts[at]
                exposed = case.calls.is_exposed(op)
                newest[exposed] = max(newest.get(exposed, (0, op)), (version, op), key=lambda fact: fact[0])
                at += 1
            if shown.version is None and _may_be_forgotten(writes, shown):
                continue
            found.checks += 1
            older = [op for _, (version, op) in sorted(newest.items()) if (shown.version or 0) < version]
            if older:
                text = f"{shown.op.client} was shown version {shown.version} at {shown.op.began:.3f}"
                found.lose(older[0], name, f"{text}, and {older[0].client} had been told of a newer one")


def _may_be_forgotten(writes: Writes, shown: Shown) -> bool:
    """Whether the name may have been removed, and the removal forgotten."""
    for op in writes.sets:
        if op.began <= (shown.op.ended or 0.0) and any(
            item["name"] == shown.name and value_of(item) is None for item in op.asked["item"]
        ):
            return True
    return False


def config_values_kept(case: Case, found: Finding) -> None:
    """What is shown as a version of a name is what was written as this version."""
    writes = case.view(Writes)
    wrote = {(one.name, one.version): one for one in writes.written}
    others: defaultdict[str, set[str | None]] = defaultdict(set)  # what calls may have written without saying so
    for op in writes.sets:
        if not op.answer or writes.is_unsure(op):  # a late copy may have written it again
            for item in op.asked["item"]:
                others[item["name"]].add(value_of(item))
    for name, version, value in _all_shown(writes):
        found.checks += 1
        one = wrote.get((name, version))
        if one is not None and one.value != value:
            text = f"version {version} was shown as {value!r}, and {one.op.client} has written {one.value!r}"
            found.lose(one.op, name, text)
        elif one is None and value not in others[name]:
            found.convict(name, f"version {version} was shown as {value!r}, which nobody has written")


def _all_shown(writes: Writes) -> Iterator[tuple[str, int, str | None]]:
    for shown in writes.shown:
        if shown.version is not None:
            yield shown.name, shown.version, shown.value
    for view in writes.views:
        for name, (version, value) in view.content.items():
            yield name, version, value
    for name, versions in writes.final.get("histories", {}).items():
        for version, value in versions:
            yield name, version, value


def snapshots_rise(case: Case, found: Finding) -> None:
    """The rev of a snapshot never goes back, unless the server has lost writes."""
    writes = case.view(Writes)
    last: dict[tuple[str, str], Op] = {}
    for op in writes.seen:
        key = op.client, op.asked["snapshot"]
        before = last.get(key)
        last[key] = op
        if before is None or writes.may_be_lost(before.answer["rev"]):
            continue
        found.checks += 1
        if op.answer["rev"] < before.answer["rev"]:
            text = f"{op.client} saw rev {op.answer['rev']} at {op.began:.3f}, after rev {before.answer['rev']}"
            found.convict(op.asked["snapshot"], text)


def snapshots_whole(case: Case, found: Finding) -> None:
    """A snapshot, and a read of several names, show exactly what the namespace had at their rev."""
    writes = case.view(Writes)
    if writes.stream is None:
        return
    state: dict[str, int] = {}
    newest: dict[str, int] = {}  # also of removed names
    versions = iter([*sorted(writes.stream, key=lambda one: one.version), None])
    version = next(versions)
    moments: list[tuple[int, View | Op]] = [(view.rev, view) for view in writes.views]
    moments += [(op.answer["rev"], op) for op in writes.reads if op.asked.get("item")]
    for rev, what in sorted(moments, key=lambda moment: moment[0]):
        while version is not None and version.version <= rev:
            newest[version.name] = version.version
            if version.removed:
                state.pop(version.name, None)
            else:
                state[version.name] = version.version
            version = next(versions)
        op = what.op if isinstance(what, View) else what
        if writes.may_be_lost(rev):
            continue
        found.checks += 1
        who = op.client if op is not None else "a new snapshot at the end"
        if isinstance(what, View):
            shown = {name: version for name, (version, _) in what.content.items()}
            if wrong := sorted(name for name in {*shown, *state} if shown.get(name) != state.get(name)):
                found.convict(
                    wrong[0], f"{who} saw version {shown.get(wrong[0])} at rev {rev}, which has {state.get(wrong[0])}"
                )
        else:
            for one in what.answer["items"]:
                name, own = one["name"], one.get("version")
                is_right = state.get(name) == own if one["status"] == "value" else name not in state
                if not is_right or (own is not None and newest.get(name) != own):
                    found.convict(name, f"{who} was shown version {own} at rev {rev}, which has {newest.get(name)}")


def snapshots_end_current(case: Case, found: Finding) -> None:
    """While the server answers, a snapshot learns of each write in a few seconds."""
    writes = case.view(Writes)
    for op in writes.seen:
        until = op.asked.get("until", 0)
        if not until or op.answer["status"] == "stale" or writes.may_be_lost(until):
            continue
        found.checks += 1
        if op.answer["rev"] < until:
            text = f"{op.client} saw rev {op.answer['rev']} at {op.began:.3f}, long after rev {until} was written"
            found.convict(op.asked["snapshot"], text)


def config_history_listed(case: Case, found: Finding) -> None:
    """The history of a name lists each of its versions once, newest first, as far as it is kept."""
    writes = case.view(Writes)
    if writes.stream is None or not writes.final:
        return
    for name, listed in writes.final["histories"].items():
        found.checks += 1
        own = writes.of_name[name][::-1]
        # A call without an answer may have come since the history was read.
        newer = [one for one in own if one.version > max(writes.final["rev"], listed[0][0] if listed else 0)]
        whole = own[len(newer) :]
        kept, rest = whole[: len(listed)], whole[len(listed) :]
        told = [(version, value is None) for version, value in listed]
        if told != [(one.version, one.removed) for one in kept]:
            found.convict(name, f"its history lists {told}, and the stream {[one.version for one in own]}")
        elif rest and len(listed) < LISTED and not rest[0].removed:
            # What is before a removal that was forgotten is forgotten, too.
            found.convict(name, f"its history has {len(listed)} versions, and not {rest[0].version}, which came before")
