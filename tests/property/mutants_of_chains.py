"""The same for chains: lines of Lua that matter, what a mistake would make of each, and which corner notices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.property import test_chain_corners as chains
from tests.property.driver import Driver

Mutant = tuple[str, str]  # the text, and what takes its place
Scenario = Callable[[Driver], None]

GOOD = "local decisive = good == (own[2] == '1')"
SILENT = "if ctx.noted then propagate_ends(", "if false then propagate_ends("
PURGED = "if own[1] and release_holds(ctx, id, 'f') and"
READY_MS = "redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)"
DUE = "math.max(ctx.now + (own[4] or 0), tonumber(own[5] or 0))"
LOOK_AFTER = "if own[6] then await_deadline(ctx, id, due_ms) end"
CANCELLED = "redis.call('HEXISTS', task .. id, 'cancelled_ms') == 1"
NOTES = "local notes = redis.call('ZRANGE', ends, 0, limit - told - 1"
all_of_them = partial(chains.test_a_task_waits_for_all_or_for_any, some=False)

CHAINS: list[tuple[Scenario, dict[str, Mutant]]] = [
    (partial(all_of_them, when="completed"), {
        "who waits is ready": ("if own.after or own.gather or own.behind then", "if own.gather then"),
        "who is named twice counts twice": ("if not seen[other] then", "if true then"),
        "one end is enough": (GOOD, "local decisive = good"),
        "a bad end is waited out": (GOOD, "local decisive = false"),
        "what failed before has completed": ("note_end(ctx, failed and 'f' or 'c', id", "note_end(ctx, 'c', id"),
        "what has completed is waited for": ("if failed or redis.call('ZSCORE', finished, id) then", "if failed then"),
        "what is dead is waited for": ("local failed = redis.call('ZSCORE', dead, id) or", "local failed ="),
        "what is cancelled has completed": (f"or {CANCELLED}", "or false"),
        "nobody hears that others are free": ("for first = 1, #batch.freed, 1000 do", "for first = 1, 0 do"),
        "nobody is told why": ("'reason', 'after_failed')", "'reason', 'error')"),
        "who goes on waits as well": ("redis.call('ZREM', blocked, id)\n  if good", "if good"),
        "a completed task has failed": ("own_ms = release_holds(ctx, id, 'c')", "own_ms = release_holds(ctx, id, 'f')"),
        "a dead task has completed": ("release_holds(ctx, id, 'f') then answer_waiters(ctx, id, 'dead",
                                      "release_holds(ctx, id, 'c') then answer_waiters(ctx, id, 'dead"),
        "a cancelled task has completed": ("release_holds(ctx, id, 'f') then answer_waiters(ctx, id, 'canc",
                                           "release_holds(ctx, id, 'c') then answer_waiters(ctx, id, 'canc"),
    }),
    (partial(chains.test_a_task_waits_for_all_or_for_any, when="completed", some=True), {
        "the last bad end is not the end": ("'awaits', -1) > 0 then return end", "'awaits', -1) >= 0 then return end"),
        "any is all": (GOOD, "local decisive = not good"),
    }),
    (partial(all_of_them, when="failed"), {
        "a failure is never good": ("(how == 'c') == (own[1] ~= 'failed')", "how == 'c'"),
        "what nobody needs any more is dead": ("elseif own[1] == 'failed' then", "elseif false then"),
    }),
    (partial(all_of_them, when="ended"), {
        "not every end is an end": ("local good = own[1] == 'ended' or", "local good ="),
    }),
    *[
        (partial(chains.test_every_end_is_passed_on, way=way), {f"{way} passes nothing on": SILENT})
        for way in ("ack", "fail", "release", "snooze", "cancel", "deregister", "reap", "expire")
    ],
    (chains.test_a_claim_passes_on_what_it_finds_expired, {"claim passes nothing on": SILENT}),
    (partial(chains.test_every_end_is_passed_on, way="purge"), {
        "a purge tells nobody": (PURGED, "if own[1] and"),
        "purged tasks have completed": (PURGED, PURGED.replace("'f'", "'c'")),
        "a sweep passes nothing on": ("if ctx.chains then next_ms = math.min(", "if false then next_ms = math.min("),
    }),
    (chains.test_200_come_after_one_that_has_ended, {
        "enqueue passes nothing on": SILENT,
        "a call passes on without end": (NOTES, f"limit = 1000\n    {NOTES}"),
    }),
    (chains.test_what_runs_by_then_is_waited_for_too, {
        "a running task is not tied": ("if held and not string.find(held, ' ties[^|]*|') then", "if false then"),
        "a waiting task is not awaited": ("'awaited', '1', 'ties', '1')", "'ties', '1')"),
    }),
    (chains.test_a_tasks_times_count_from_its_start, {
        "a blocked task does not expire": ("if own.expires_at_ms then redis", "if false then redis"),
        "its delay counts from the enqueue": (DUE, "tonumber(own[5] or 0)"),
        "its time is forgotten": (DUE, "ctx.now + (own[4] or 0)"),
        "nobody looks after it": (LOOK_AFTER, ""),
        "its fallback counts from its unblocking": (LOOK_AFTER, LOOK_AFTER.replace("due_ms", "ctx.now")),
    }),
    (chains.test_a_task_keeps_its_place_while_it_waits, {
        "it goes to the end of the line": ("own[3] or 'any', score, id)", "own[3] or 'any', score + 99, id)"),
        "its priority is forgotten": ("'ZADD', blocked, (own.priority or 5)", "'ZADD', blocked, 5"),
        "it was ready all the time": (READY_MS + "\n    if due_ms", "if due_ms"),
    }),
    (chains.test_more_than_a_hundred_wait_for_one, {
        "what is left is forgotten": ("if count == limit - told then", "if false then"),
        "who was told stays in the list": ("if count > 0 then redis", "if false then redis"),
        "its lane is forgotten": ("line_up(batch.by_lane, own[3] or 'any'", "line_up(batch.by_lane, 'any'"),
        "a note counts as one": ("told = told + math.max(count, 1)", "told = told + 1"),
    }),
    (partial(chains.test_another_life_of_an_id_is_not_meant, way="purge"), {
        "who comes later is told": ("'-inf', upto, 'BYSCORE'", "'-inf', '+inf', 'BYSCORE'"),
        "what is left is the latest": ("'ZADD', ends, at_ms, how", "'ZADD', ends, ctx.now_text, how"),
    }),
    (chains.test_another_task_of_an_id_waits_for_something_else, {
        "any task of an id is told": ("if not score or score % BAND ~= tonumber(place) then return end",
                                      "if not score then return end"),
    }),
    (chains.test_only_the_first_end_counts, {
        "who ends again tells it again": ("redis.call('HDEL', task .. id, 'awaited', 'gathered')", ""),
    }),
    (chains.test_a_parent_gathers_250_children_of_several_calls, {
        "a parent gathers nothing": ("own.gather or (own.behind and 1 or 0)", "own.behind and 1 or 0"),
        "a parent is not told": ("if at ~= '0' then tell_waiting(", "if false then tell_waiting("),
        "a child is not a parent's": ("if own.parent and ctx.chains then", "if false then"),
        "a child has no ties": ("score % BAND), 'ties', '1')", "score % BAND))"),
        "a queue has no chains": ("redis.call('HSET', config, 'chains', '1')", "return"),
        "a child's own end only": ("how, id, own[6] and own[7] .. ' ' .. own[6])", "how, id)"),
    }),
    (chains.test_a_child_counts_with_what_it_is_and_waits_for, {
        "a blocked task is not found": ("finished, delayed, dead, blocked }) do", "finished, delayed, dead }) do"),
        "every blocked parent gathers": ("if own[1] and not own[2] then", "if score then"),
        "every parent gathers": ("local own = score and", "score = score or 0\n  local own ="),
    }),
    (chains.test_a_tree_that_is_cancelled_twice_in_a_millisecond, {
        "trees of one time are one": ("redis.call('HINCRBY', config, 'trees', 1)", "ctx.now"),
    }),
    (partial(chains.test_a_claim_says_that_ends_are_left, verb="claim"), {
        "nobody is told of ends that are left": ("== 1 then next_ms = ctx.now end", "== 2 then end"),
    }),
    (chains.test_a_tree_is_cancelled_from_its_top_down, {
        "a tree is only its root": ("if stamp then", "if false then"),
        "a tree is only its root's children": ("if has_own and tonumber(", "if false and tonumber("),
        "a tree's pages repeat": ("local start = last_score == '0' and", "local start = true and"),
        "a tree in one call": ("start, start + limit - 1, 'WITHSC", "start, start + 999, 'WITHSC"),
        "a cancelled tree stays noted": ("redis.call('ZREM', ends, note)", ""),
        "who is cancelled waits as well": (
        "redis.call('ZREM', set, id)\n  if record.limited_by", "if record.limited_by"),
        "its emptied lane keeps its token": ("if state == 'ready' and redis.call('EXISTS', set) == 0", "if false"),
        "who runs is not asked": ("if set == leases then", "if false then"),
        "what has completed is cancelled": ("if state == 'completed' or", "if"),
    }),
    (chains.test_a_tree_takes_those_that_its_root_sets_free, {
        "who was set free escapes": ("line_up_freed()  -- or it would miss them", ""),
    }),
    (chains.test_parents_in_a_circle_are_cancelled_once, {
        "a circle has no end": ("tonumber(row[4] or 0) < tonumber(stamp) then", "true then"),
        "a circle is cancelled only once": ("tonumber(row[4] or 0) < tonumber(stamp) then", "not row[4] then"),
    }),
    (chains.test_a_cancelled_tree_reaches_what_came_of_removed_tasks, {
        "a tree ends at who was removed": ("local parent = row[3]", "local parent = row[2]"),
        "nobody is a link": ("local linked = some_have > 0 and", "local linked = false and"),
        "a link goes after a minute": ("if one[1] then redis.call('PEXPIRE'", "if true then redis.call('PEXPIRE'"),
        "links stay": ("for _, id in ipairs(touched) do shorten_family(ctx, id) end", ""),
        "a link stays before its only child": ("(only and not only[1]) then return", "only then return"),
        "a link of two goes": ("if #kids == 4 or (only", "if (only"),
        "who has an id again is a link still": ("redis.call('ZREM', children .. old[5], id)", ""),
    }),
    (chains.test_a_link_below_a_cancelled_one_takes_over_its_note, {
        "a note goes with its link": ("if tonumber(link[3] or 0) > tonumber(only[2] or 0) then", "if false then"),
    }),
    (chains.test_links_that_have_each_other_go, {
        "two links have each other for ever": ("if parent == kids[1] then", "if false then"),
    }),
    (chains.test_a_tree_is_cancelled_by_one_call_once, {
        "a tree is cancelled again": ("if answers then return { 'ok', ctx.now, answers } end", ""),
    }),
    (chains.test_who_comes_after_nobody_is_not_made, {
        "nobody is missing": ("elseif missing then", "elseif false then"),
        "who is gone is not missing": ("if not row[1] or is_later(", "if not row[2] or is_later("),
        "who comes later is not missing": ("or is_later(row[2], stamp) then return id end", "then return id end"),
        "a draining queue refuses what makes no task": (
            "not (own.after and find_missing(ctx, own.after, stamp)", "not (false"),
        "who was not made exists": ("then return 'exists', is_later(row[1], stamp) end", "then return 'exists' end"),
    }),
    *[
        (partial(chains.test_who_is_not_made_is_not_merged_with_a_later_item, key=key), {
            f"who is not made is merged by its {key}": ("name, asked and is_later(row[2], stamp) end", "name end"),
        })
        for key in ("scope", "unique", "key")
    ],
    (partial(chains.test_who_is_not_made_is_not_merged_with_a_later_item, key="scope"), {
        "an older payload takes the place of a newer": ("later_twin and 'key' or by", "by"),
    }),
    (chains.test_whoever_waits_for_an_evicted_task_fails, {
        "an evicted task is waited for": ("if ctx.chains and redis.call('EXISTS'", "if false and redis.call('EXISTS'"),
    }),
]  # fmt: skip
