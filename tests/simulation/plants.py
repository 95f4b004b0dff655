"""Faults in the scripts that stories must find."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyadeq import library
from tests.nouns.sources import paths, rebuilt, text_of


def planted(old: str, new: str) -> Callable[[str], str]:
    """A change of all scripts with a source that has a line."""
    texts = {path: text_of(path) for path in paths()}
    changed = rebuilt({path: text.replace(old, new) for path, text in texts.items() if old in text})
    assert changed, f"no source has the line any more: {old}"
    by_text = {library()[id].text: text for id, text in changed.items()}
    return lambda text: by_text.get(text, text)


# The rule that is broken, and the lines of the scripts before and after.
PLANTS: Mapping[str, tuple[str, str, str]] = {
    "an ack looks at no token": (
        "stale_tokens",
        "find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32",
        "false",
    ),
    "a failure looks at no token": (
        "stale_tokens",
        "if not lease or lease.token ~= token or ended[id]",
        "if not lease or ended[id]",
    ),
    "a wake-up is lost": (
        "problem",
        "if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end",
        "",
    ),
    "what is due is not promoted": (
        "nothing_left",
        "redis.call('ZRANGE', delayed, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1, 'WITHSCORES')",
        "{}",
    ),
    "a lease is taken back too early": (
        "leases_apart",
        "redis.call('ZRANGE', leases, '-inf', ctx.now, 'BYSCORE'",
        "redis.call('ZRANGE', leases, '-inf', ctx.now + 5000, 'BYSCORE'",
    ),
    "a repeated key is new": (
        "one_per_key",
        "if stands then return id, name,",
        "if stands and name ~= 'key' then return id, name,",
    ),
    "a freed lock is not handed over": ("free_locks", "if not tried.obstacle then", "if false then"),
    "exclusive beside shared": (
        "locks_exclude",
        "return line.holds > redis.call('ZLEXCOUNT', graph,",
        "return 0 > redis.call('ZLEXCOUNT', graph,",
    ),
    "a fence stays": (
        "lock_fences_rise",
        "math.max(ctx.fence + 1, ctx.now * 1000)",
        "math.floor(ctx.now / 1000) * 1000000",
    ),
    "an author votes": (
        "approved_by_enough",
        "has_written(own.id, { actor, person }) then return nil, 'contributor' end",
        "false then return nil, 'contributor' end",
    ),
    "one approval is enough": (
        "approved_by_enough",
        "counts.approved >= number_of(own, 'p_required')",
        "counts.approved >= 1",
    ),
    "a person fills two slots": (
        "approved_by_enough",
        "if one.by == person then\n      if not",
        "if false then\n      if not",
    ),
    "a vote for another revision counts": (
        "change_answers_kept",
        "if item_rev[i] ~= own.rev or item_digest[i] ~= own.digest then return { 'outdated'",
        "if false then return { 'outdated'",
    ),
    "a run begins without an approval": (
        "applied_as_approved",
        "if own.state ~= 'approved' then return told(ctx, 'begin'",
        "if false then return told(ctx, 'begin'",
    ),
    "the lease of a run ends too early": (
        "runs_apart",
        "if own.state == 'applying' then return own.deadline_ms end",
        "if own.state == 'applying' then return own.deadline_ms - 900 end",
    ),
    "a timeout approves": (
        "fails_closed",
        "reject(ctx, own, 'time', 'timeout')",
        "approve(ctx, own, 'policy:' .. text_of(own, 'policy'), 'timeout')",
    ),
    "an answer is not remembered": (
        "one_effect",
        "local before = replayed_reply(ctx, 'respond')",
        "local before = nil",
    ),
    "a request stays in its inbox": (
        "inboxes_exact",
        "if one.status == 'pending' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end",
        "",
    ),
    "a revoked session is kept": ("ended_sessions_stay", "    remove_sessions(own.user, { own.hash })\n", ""),
    "sessions are swept too early": (
        "created_sessions_found",
        "redis.call('ZRANGE', all, '-inf', ctx.now, 'BYSCORE'",
        "redis.call('ZRANGE', all, '-inf', ctx.now + 4000, 'BYSCORE'",
    ),
    "an older id updates": (
        "old_ids_only_read",
        "if rotated then return conclude(ctx, 'update', 'rotated', {}) end",
        "",
    ),
    "a user has one session more": (
        "session_limit_kept",
        "for i = 1, #valid - limit + 1 do ended[i]",
        "for i = 1, #valid - limit do ended[i]",
    ),
    "an update compares no version": (
        "updates_kept",
        "tonumber(own.ver) ~= item_ver[1]",
        "tonumber(own.ver) < item_ver[1]",
    ),
    "a session does not end by idleness": (
        "sessions_end_in_time",
        " or ctx.now >= own.active_ms + own.idle_ms",
        "",
    ),
    "a write compares no version": (
        "expected_versions_replaced",
        "item_expect[i] < 0 or item_expect[i] == tonumber(version)",
        "item_expect[i] ~= 0 or version == '0'",
    ),
    "a rev is used twice": (
        "config_revs_rise",
        "local rev = math.max(ctx.settings.rev + 1, ctx.now * 1000)",
        "local rev = math.floor(ctx.now / 4000) * 4000000",
    ),
    "a write is not remembered": ("config_writes_once", "local before = done_before(ctx, 'set')", "local before = nil"),
    "a read overlooks names": (
        "config_reads_current",
        "items[i] = entry_of(name) end",
        "items[i] = i > 2 and { 'missing', name } or entry_of(name) end",
    ),
    "a history lacks the first byte of values": (
        "config_values_kept",
        "string.sub(text, value_at) or nil",
        "string.sub(text, value_at + 1) or nil",
    ),
    "revs fall": (
        "snapshots_rise",
        "local rev = math.max(ctx.settings.rev + 1, ctx.now * 1000)",
        "local rev = ctx.settings.rev > 0 and ctx.settings.rev - 1 or ctx.now * 1000",
    ),
    "snapshots are not told of removals": (
        "snapshots_whole",
        "if entry[1] == 'value' or since > 0 or tonumber(page[i + 1]) > first then",
        "if entry[1] == 'value' then",
    ),
    "a snapshot stays at its rev": (
        "snapshots_end_current",
        "return { 'ok', ctx.now, rev, last, items }",
        "return { 'ok', ctx.now, since > 0 and since or rev, last, items }",
    ),
    "a history has two versions": (
        "config_history_listed",
        "while kept > 99 or size > 1048576 do",
        "while kept > 1 or size > 1048576 do",
    ),
    "an acknowledged event counts as lost": (
        "events_delivered",
        "redis.call('ZREM', unacked .. group, unpack(item_id))",
        "",
    ),
    "a lost event is not counted": (
        "events_delivered",
        "if from then add_gap(own, from, to, #lost) end",
        "if from then add_gap(own, from, to, #lost - 1) end",
    ),
    "two gaps have one number": (
        "gaps_reported_once",
        "own.gap, own.lost, own.changed = own.gap + 1,",
        "own.gap, own.lost, own.changed = 1,",
    ),
    "a stream has no bound": ("events_bounded", "'MAXLEN', '~', ctx.settings.events_max,", ""),
    "gcra allows one hit more": ("rates_kept", "whole - cost * pace)", "whole + pace - cost * pace)"),
    "a log allows one hit more": (
        "rates_kept",
        "cost > limit - fresh then wait",
        "cost > limit + 1 - fresh then wait",
    ),
    "there is one lease more": ("leases_kept", "cost > 0 and left < cost", "cost > 0 and left + 1 < cost"),
    "a lease ends too early": (
        "leases_kept",
        "string.format('(%.0f', at_ms)",
        "string.format('(%.0f', at_ms + 1500)",
    ),
    "a lease ends too late": (
        "slots_freed",
        "string.format('(%.0f', at_ms)",
        "string.format('(%.0f', at_ms - 900)",
    ),
    "a call counts in its first rule only": (
        "hits_all_or_none",
        "for i = 1, item_count do\n    local item, cost, mark",
        "for i = 1, 1 do\n    local item, cost, mark",
    ),
    "a refused call counts": ("hits_counted_once", "if status == 'allowed' then\n  for i", "if true then\n  for i"),
    "a hit is not remembered": (
        "hits_answered_again",
        "if counts and rid ~= '' then remember",
        "if false then remember",
    ),
}
