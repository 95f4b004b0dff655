"""What no call of a script can do, by the reason, each as `<source, or * for any>: <which way a decision does not go>`.

Most are loops over what is never empty. The coverage test fails on an entry that nothing needs.
"""

from __future__ import annotations

from typing import Final

UNREACHABLE: Final = {
    "a request names one resource at least": [
        "*: no round over `request.parts`",
        "include/cover_parts.lua: no round over `read_request(record_of(ctx, rid)).parts`",
        "include/link_request.lua: no round over `members_of(rid, request)`",
        "include/read_request.lua: no round over `string.gmatch(list, '(%w+)(%+?)/(%d+)=([^,]+)')`",
    ],
    "a call has one item at least, or has been asked before whether it has": [
        "*: no round over `item_count`",
        *(f"*: no round over `item_{field}`" for field in ("id", "key", "lane", "resource", "rid", "user", "worker")),
        "include/add_tasks.lua: no round over `ids`",
        "include/fail_tasks.lua: no round over `fails.id`",
        "include/note_answers.lua: no round over `answers`",
        "include/refuse_new.lua: no round over `ids`",
        "include/return_leases.lua: no round over `ids`",
        "include/window_left.lua: no round over `wanted`",
    ],
    "two fields are asked for": [
        "include/settled_before.lua: no round over `redis.call('HMGET', task .. id, 'settled', 'settled_earlier')`",
    ],
    "a link is among the children of its parent": [
        "include/shorten_family.lua: `score` is false",
    ],
    "whoever calls it has found one at least": [
        "include/end_overdue.lua: no round over `redis.call('ZMSCORE', deadlines, unpack(rids))`",
        "include/end_rids.lua: no round over `rids`",
        "include/first_due.lua: no round over `#page`",
        "include/first_due.lua: no round over `limit`",
        "include/first_leases.lua: no round over `#page`",
        "include/first_leases.lua: no round over `ids`",
        "include/first_leases.lua: no round over `limit`",
        "include/expire_waiting.lua: no round over `#ids`",
        "include/free_limits.lua: no round over `redis.call('HMGET', running, unpack(ids))`",
        "include/free_limits.lua: no round over `math.min(first + 999, #keys)`",
        "include/note_starts.lua: no round over `ctx.started`",
        "include/note_starts.lua: no round over `#due`",
        "include/remove_tasks.lua: no round over `#families`",
        "queue/purge.v1.lua: no round over `at`",
        "include/drain_limit_queues.lua: no round over `keys`",
        "include/read_limits.lua: no round over `keys`",
    ],
    "the request itself is part of what is_deadlocked plays through, and waits": [
        "include/is_deadlocked.lua: no round over `state.lines`",
        "include/is_deadlocked.lua: no round over `state.need`",
        "include/left_over.lua: no round over `line`",
        "include/left_over.lua: no round over `search.wants`",
        "include/lines_of.lua: no round over `state.lines`",
        "include/lines_of.lua: no round over `state.waits[request.owner]`",
        "include/lines_of.lua: no round over `state.waits`",
        "include/save_search.lua: no round over `#row`",
        "include/save_search.lua: no round over `state.todo`",
    ],
    "where nobody holds anything nobody is stuck": [
        "include/left_over.lua: no round over `state.holds`",
    ],
    "the loop stands behind a test that there is one": [
        "include/ack_tasks.lua: no round over `ids`",
        "queue/claim.v1.lua: no round over `alone_kinds`",
        "include/add_payloads.lua: no round over `leased`",
        "include/give_timeout.lua: no round over `leased`",
        "include/cover_parts.lua: no round over `members`",
        "include/edges_of.lua: no round over `waiters`",
        "include/expire_waiting.lua: no round over `ids`",
        "include/find_damage.lua: no round over `ids`",
        "include/propagate_ends.lua: no round over `#notes`",
        "include/join_traces.lua: no round over `count`",
        "include/peek_lines.lua: no round over `found`",
        "include/promote_due.lua: no round over `ids`",
        "include/promote_due.lua: no round over `last`",
        "include/read_record.lua: no round over `#flat`",
        "include/reap_expired.lua: no round over `ids`",
        "include/set_fair.lua: no round over `#changes`",
        "include/remove_tasks.lua: no round over `#families`",
        "include/remove_tasks.lua: no round over `#keys`",
        "include/remove_tasks.lua: no round over `ids`",
        "include/trim_set.lua: no round over `#gone / 2`",
    ],
    "a claim for no lanes leases nothing": [],
    "it is made with one": [
        "include/add_counts.lua: no round over `counted`",
        "include/close_domain.lua: no round over `#changes`",
        "include/find_damage.lua: no round over `#sets`",
        "include/find_damage.lua: no round over `sets`",
        "include/find_duplicate.lua: no round over `names`",
        "include/apply_limits.lua: no round over `limited`",
        "include/make_ready.lua: no round over `#members`",
        "include/peek_lines.lua: no round over `page`",
        "include/note_claimed.lua: no round over `bands`",
        "include/remove_tasks.lua: no round over `#members`",
        "queue/purge.v1.lua: no round over `sets`",
    ],
    "a task has a record, and a list in it a word": [
        "include/find_missing.lua: no round over `ids`",
        "include/give_timeout.lua: no round over `#record`",
        "include/apply_limits.lua: no round over `#record`",
        "include/index_task.lua: no round over `own.tags`",
        "include/summarise.lua: no round over `record`",
    ],
}


def entry_for(source: str, way: str) -> str | None:
    """The entry that says that a source cannot go this way, if one does."""
    entries = {entry for of_reason in UNREACHABLE.values() for entry in of_reason}
    return next((entry for entry in (f"{source}: {way}", f"*: {way}") if entry in entries), None)
