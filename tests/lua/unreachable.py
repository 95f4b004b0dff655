"""What no call of a script can do, by the reason, each as `<source, or * for any>: <which way a decision does not go>`.

Most are loops over what is never empty. The coverage test fails on an entry that nothing needs.
"""

from __future__ import annotations

from typing import Final

UNREACHABLE: Final = {
    "a request names one resource at least": [
        "*: no round over `request.parts`",
        "lock/include/grant/cover_parts.lua: no round over `read_request(record_of(ctx, rid)).parts`",
        "lock/include/line/link_request.lua: no round over `members_of(rid, request)`",
        "lock/include/core/read_request.lua: no round over `string.gmatch(list, '(%w+)(%+?)/(%d+)=([^,]+)')`",
    ],
    "a call has one item at least, or has been asked before whether it has": [
        "*: no round over `item_count`",
        *(
            f"*: no round over `item_{field}`"
            for field in ("action", "group", "id", "key", "lane", "name", "resource", "rid", "user", "worker")
        ),
        "queue/enqueue.v1.lua: no round over `#own`",
        "queue/include/enqueue/add_plain_tasks.lua: no round over `#ids`",
        "queue/include/enqueue/add_plain_tasks.lua: no round over `of_user`",
        "queue/include/enqueue/add_tasks.lua: no round over `ids`",
        "queue/include/enqueue/hold_new_keys.lua: no round over `#fields`",
        "queue/include/enqueue/new_keys.lua: no round over `#asked`",
        "queue/include/enqueue/new_keys.lua: no round over `#ids`",
        "queue/include/settle/fail_tasks.lua: no round over `fails.id`",
        "kernel/replay/note_answers.lua: no round over `answers`",
        "rate/include/log/count_log.lua: no round over `cost`",
        "rate/include/replay/remember_hit.lua: no round over `items`",
        "rate/include/replay/remember_items.lua: no round over `items`",
        "rate/include/replay/recall_items.lua: no round over `string.gmatch(text, '(%l+)=(%d*)')`",
        "rate/include/replay/recall_hit.lua: no round over `string.gmatch(list, '(%l+),(%d+),(%d+),(%d+),(%d+),(%d+),(%l+)')`",  # noqa: E501
        "queue/include/enqueue/refuse_new.lua: no round over `ids`",
        "queue/include/settle/return_leases.lua: no round over `ids`",
        "queue/include/settle/drop_payloads.lua: no round over `ids`",
        "queue/include/settle/drop_payloads.lua: no round over `keys`",
        "queue/include/claim/window_left.lua: no round over `wanted`",
        "queue/include/usual/claim_plain.lua: no round over `count`",
        "queue/include/usual/complete_plain.lua: no round over `ids`",
        "queue/include/usual/count_times.lua: no round over `#times`",
        "queue/include/usual/count_times.lua: no round over `buckets`",
        "queue/include/usual/plain_runs.lua: no round over `ids`",
    ],
    "a queue has settings": [
        "queue/include/settings/settings_digest.lua: no round over `#row`",
    ],
    "an entry of the history has 16 numbers": [
        "queue/history.v1.lua: no round over `string.gmatch(text, '%S+')`",
    ],
    "an event and a stream have fields": [
        "events/include/group/add_event.lua: no round over `#fields`",
        "events/include/stream/look_stream.lua: no round over `#info`",
    ],
    "two fields are asked for": [
        "queue/include/settle/settled_before.lua: no round over `redis.call('HMGET', task .. id, 'settled', 'settled_earlier')`",  # noqa: E501
    ],
    "a link is among the children of its parent": [
        "queue/include/retention/shorten_family.lua: `score` is false",
    ],
    "whoever calls it has found one at least": [
        "lock/include/end/end_overdue.lua: no round over `redis.call('ZMSCORE', deadlines, unpack(rids))`",
        "queue/include/due/first_due.lua: no round over `#page`",
        "queue/include/due/first_due.lua: no round over `limit`",
        "queue/include/due/first_leases.lua: no round over `#page`",
        "queue/include/due/first_leases.lua: no round over `ids`",
        "queue/include/due/first_leases.lua: no round over `limit`",
        "queue/include/due/expire_waiting.lua: no round over `#ids`",
        "queue/include/limits/on_unlease.lua: no round over `redis.call('HMGET', running, unpack(ids))`",
        "queue/include/limits/on_unlease.lua: no round over `math.min(first + 999, #keys)`",
        "queue/include/limits/note_starts.lua: no round over `ctx.started`",
        "queue/include/limits/note_starts.lua: no round over `#due`",
        "queue/purge.v1.lua: no round over `at`",
        "queue/include/limits/drain_limit_queues.lua: no round over `keys`",
        "queue/include/limits/read_limits.lua: no round over `keys`",
        "queue/include/limits/peek_lines.lua: no round over `lines`",
        "queue/include/limits/read_places.lua: no round over `lines`",
        "queue/include/limits/spare_others.lua: no round over `limited`",
        "queue/include/limits/write_joins.lua: no round over `ctx.joins`",
        "queue/include/limits/write_joins.lua: no round over `#rows`",
    ],
    "the request itself is part of what is_deadlocked plays through, and waits": [
        "lock/include/deadlock/is_deadlocked.lua: no round over `state.lines`",
        "lock/include/deadlock/is_deadlocked.lua: no round over `state.need`",
        "lock/include/deadlock/left_over.lua: no round over `line`",
        "lock/include/deadlock/left_over.lua: no round over `search.wants`",
        "lock/include/deadlock/lines_of.lua: no round over `state.lines`",
        "lock/include/deadlock/lines_of.lua: no round over `state.waits[request.owner]`",
        "lock/include/deadlock/lines_of.lua: no round over `state.waits`",
        "lock/include/deadlock/save_search.lua: no round over `#row`",
        "lock/include/deadlock/save_search.lua: no round over `state.todo`",
    ],
    "where nobody holds anything nobody is stuck": [
        "lock/include/deadlock/left_over.lua: no round over `state.holds`",
    ],
    "the loop stands behind a test that there is one": [
        "queue/include/settle/ack_tasks.lua: no round over `ids`",
        "queue/claim.v1.lua: no round over `alone_kinds`",
        "queue/include/claim/add_payloads.lua: no round over `leased`",
        "queue/include/claim/give_timeout.lua: no round over `leased`",
        "lock/include/grant/cover_parts.lua: no round over `members`",
        "lock/include/deadlock/edges_of.lua: no round over `waiters`",
        "queue/include/due/expire_waiting.lua: no round over `ids`",
        "queue/include/repair/find_damage.lua: no round over `ids`",
        "queue/include/chains/line_up_freed.lua: no round over `#batch.freed`",
        "queue/include/chains/tell_waiting.lua: no round over `tells`",
        "queue/include/chains/tell_waiting.lua: no round over `redis.call('ZMSCORE', blocked, unpack(ids))`",
        "queue/include/chains/tell_waiting.lua: no round over `ids`",
        "queue/include/core/join_traces.lua: no round over `count`",
        "queue/include/limits/read_places.lua: no round over `found`",
        "queue/include/due/promote_due.lua: no round over `ids`",
        "queue/include/holds/start_tied.lua: no round over `#record`",
        "queue/include/due/promote_due.lua: no round over `last`",
        "queue/include/core/read_record.lua: no round over `#flat`",
        "queue/include/due/reap_expired.lua: no round over `ids`",
        "queue/include/fair/set_fair.lua: no round over `#changes`",
        "queue/include/retention/count_existing.lua: no round over `#keys`",
        "queue/include/retention/have_children.lua: no round over `ids`",
        "queue/include/retention/remove_tasks.lua: no round over `others`",
        "queue/include/retention/remove_tasks.lua: no round over `#keys`",
        "queue/include/retention/remove_tasks.lua: no round over `ids`",
        "config/include/removed/forget_removed.lua: no round over `names`",
        "session/get.v1.lua: no round over `#record`",
        "session/include/session/remove_sessions.lua: no round over `hashes`",
    ],
    "a claim for no lanes leases nothing": [],
    "a change that was ever submitted has one request at least": [
        "*: no round over `slots_of(own)`",
        "change/include/core/save_change.lua: no round over `own.list`",
        "change/include/policy/replace_requests.lua: no round over `list`",
        "change/include/review/escalate.lua: no round over `list`",
    ],
    "a list of these always has an entry": [
        "config/include/set/answer_of.lua: no round over `string.gmatch(letters, '%a')`",
        "config/include/set/answer_of.lua: no round over `string.gmatch(rest, '(%a)(%d+)')`",
        "session/create.v1.lua: no round over `#more`",
        "change/include/content/asked_slot.lua: no round over `people`",
        "change/include/content/bytes_before.lua: no round over `math.min(#one, #other)`",
        "change/include/content/changed_fields.lua: no round over `order`",
        "change/include/content/netstrings.lua: no round over `content`",
        "change/include/core/has_written.lua: no round over `people`",
        "change/include/core/note_reply.lua: no round over `answer`",
        "change/include/core/read_fields.lua: no round over `names`",
        "change/include/core/note_reply.lua: no round over `answers`",
        "change/include/core/replayed_reply.lua: no round over `string.gmatch(item, '([ti])([^|]*)')`",
        "change/include/core/replayed_reply.lua: no round over `string.gmatch(word, '[^,]+')`",
        "change/include/apply/lock_refusal.lua: no round over `string.gmatch(resources, '[^,]+')`",
        "change/include/answer/is_behind_another.lua: no round over `people`",
        "change/include/core/refuse_hidden.lua: no round over `forms`",
        "change/include/delegate/before_person.lua: no round over `string.gmatch(one.chain, '[^>]+')`",
        "change/include/delegate/recheck_later.lua: no round over `string.gmatch(person .. one.chain, '[^>]+')`",
        "change/include/delegate/shares_person.lua: no round over `string.gmatch(other.chain .. '>' .. string.sub(other.reviewer, 6), '[^>]+')`",  # noqa: E501
        "change/include/delegate/read_delegation.lua: no round over `string.gmatch(stored, '([%a_]+)=(%S*)')`",
        "change/include/delegate/shares_one.lua: no round over `string.gmatch(wanted, '[^,]+')`",
        "change/include/follow/send_follows.lua: no round over `ctx.follows`",
        "change/include/policy/copy_policy.lua: no round over `fields`",
        "change/include/policy/read_policy.lua: no round over `string.gmatch(stored, '([%a_]+)=(%S*)')`",
        "change/include/read/log_of.lua: no round over `1`",
        "change/include/read/read_inboxes.lua: no round over `count`",
        "change/include/read/read_inboxes.lua: no round over `names`",
        "change/include/read/read_inboxes.lua: no round over `pages`",
        "change/include/read/read_inboxes.lua: no round over `sets`",
        "change/include/read/summary_of.lua: no round over `names`",
    ],
    "it is made with one": [
        "kernel/counters/write_counts.lua: no round over `counted`",
        "lock/include/core/close_domain.lua: no round over `#changes`",
        "queue/include/repair/find_damage.lua: no round over `#sets`",
        "queue/include/repair/find_damage.lua: no round over `sets`",
        "queue/include/holds/find_duplicate.lua: no round over `names`",
        "queue/include/lanes/make_ready.lua: no round over `#members`",
        "queue/include/limits/peek_lines.lua: no round over `page`",
        "queue/include/fair/on_take.lua: no round over `bands`",
        "queue/include/retention/remove_tasks.lua: no round over `#members`",
        "queue/purge.v1.lua: no round over `sets`",
    ],
    "a task has a record, and a list in it a word": [
        "queue/include/retention/remove_tasks.lua: no round over `string.gmatch(own[4], '[^,]+')`",
        "queue/include/enqueue/find_missing.lua: no round over `ids`",
        "queue/include/claim/give_timeout.lua: no round over `#record`",
        "queue/include/limits/apply_limits.lua: no round over `#record`",
        "queue/include/core/index_task.lua: no round over `own.tags`",
        "queue/include/core/summarise.lua: no round over `record`",
    ],
}


def entry_for(source: str, way: str) -> str | None:
    """The entry that says that a source cannot go this way, if one does."""
    entries = {entry for of_reason in UNREACHABLE.values() for entry in of_reason}
    return next((entry for entry in (f"{source}: {way}", f"*: {way}") if entry in entries), None)
