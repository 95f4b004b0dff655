"""Lines of Lua that matter, each with what a mistake would make of it, and who has to notice it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.property import test_corners as corners
from tests.property import test_limits as limits
from tests.property import test_list as lists
from tests.property.driver import Driver

TOKEN = "if by ~= token or not answers[answer]"
KNOWN = "if row[1] == stamp then return 'created' end"
HELD = "if field and redis.call('HGET', once, field) == id then"
UNTIE = "if tied then untie(id) end"
STUB = "if left_ms <= 0 or not own[4] then return end"
DELETE = "redis.call('DEL', task .. id, payload .. id, result .. id)"
DEADLINE = "if own.fallback or own.expires_at_ms then await_deadline(conf, id, due_ms) end"

Mutant = tuple[str, str]  # the text, and what takes its place
Scenario = Callable[[Driver], None]

BY_THE_MACHINE: dict[str, Mutant] = {
    "one call settles twice": (" or ended[id]", ""),
    "a settlement is not remembered": (TOKEN, TOKEN.replace("~=", "==")),
    "an older settlement answers": (TOKEN, "if not answers[answer]"),
    "release goes to the end of the line": ("lease.lane, lease.score, id)", "lease.lane, lease.score + 99, id)"),
    "a claim is not known again": ("if n == last then return 'replay', given end", ""),
    "promoted tasks stay delayed": ("redis.call('ZREM', delayed, unpack(ids))", ""),
    "sweeps are a millisecond late": ("tonumber(head[2]) <= conf.now", "tonumber(head[2]) < conf.now"),
    "fences do not rise": ("redis.call('HINCRBY', config, 'fence', #next_ids)", "#next_ids"),
    "a failing task is not cancelled": ("if lease.cancelling then", "if false then"),
    "ended leases are kept": ("redis.call('ZREM', leases, unpack(ids))", ""),
    "lanes in the wrong order": ("band < best_band", "band <= best_band"),
    "a finished task is cancelled": ("elseif state == 'completed' or", "elseif"),
    "a snooze is no longer than a release": ("conf.now + delays[i] or", "conf.now or"),
    "an emptied lane keeps its token": ("redis.call('DEL', wake .. lane)", ""),
    "an emptied lane is still listed": ("redis.call('SREM', lanes, lane)", ""),
    "nobody is woken": ("then redis.call('LPUSH', wake .. lane, '1') end", "then return end"),
    "nobody hears of a fallback": ("if at_ms - conf.now < 10000 then push_due(own[1]) end", ""),
    "nobody hears of a due time": ("if due_ms - conf.now < 10000 then push_due(lane) end", ""),
    "expired tasks stay in line": ("if expired or (in_line and record.fallback) then", "if false then"),
    "new tasks have no deadline": (DEADLINE, ""),
    "an id is made twice in a call": ("known = seen[id] and 'exists' or", "known ="),
    "any rid is a replay": (KNOWN, "if row[1] then return 'created' end"),
    "a unique key is not asked for": ("'unique:' .. (own.unique or ''))", "'unique:')"),
    "a merged call is not known again": ("hold_once(conf, 'rid:' .. stamp, twin, 60000)", ""),
    "keys over time are not forgotten": ("redis.call('HDEL', once, unpack(fields))", ""),
    "a lease keeps the scope": (HELD + " redis.call('HDEL', once, field) end\n  return", "return"),
    "dead tasks keep their keys": (UNTIE + "\n  redis.call('ZADD', dead", "redis.call('ZADD', dead"),
    "cancelled tasks keep their keys": (UNTIE + "\n  redis.call('HSET'", "redis.call('HSET'"),
    "purged tasks keep their keys": ("if own[1] then untie(id) end", ""),
    "purged tasks keep their idempotency keys": ("redis.call('HDEL', once, key)", ""),
    "a retried task still expires": ("'crashes', 'expires_at_ms',", "'crashes',"),
    "who keeps house is lost": ("redis.call('ZADD', workers, conf.now_text, worker)\n  sweep", "sweep"),
    "workers do not keep house": ("return trim_ended(conf, 100, tally) + sweep_once(conf, 100) < 100", "return true"),
    "results stay": (DELETE, DELETE.replace(", result .. id", "")),
    "a tag's index keeps what is gone": ("redis.call('ZREM', by_tag .. tag, id)", ""),
    "no stub is left": (STUB, "if true then return end"),
    "a new task goes with the stub": ("redis.call('PERSIST', key)", ""),
}  # fmt: skip

BY_CORNERS: list[tuple[Scenario, dict[str, Mutant]]] = [
    (corners.test_a_stub_goes_a_minute_after_the_end, {
        "a stub lasts from its removal on": ("math.min(60000, since_ms + 60000 - conf.now)", "60000"),
    }),
    (corners.test_another_token_settles_nothing, {
        "ack takes any token": (" or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32", ""),
        "fail and release take any token": ("or lease.token ~= ", "or '' == "),
    }),
    (corners.test_late_claims_write_nothing, {
        "a late claim is not stale": ("or n < last then return 'stale'", "then return 'stale'"),
        "an older incarnation is not stale": ("if row[1] ~= incarnation or", "if"),
    }),
    (corners.test_attempts_are_counted_anew_after_a_retry, {
        "one attempt too many": ("lease.attempt < tonumber(own[1]", "lease.attempt <= tonumber(own[1]"),
        "a retry counts attempts on": ("'HDEL', task .. id, 'attempts', 'crashes',", "'HDEL', task .. id,"),
    }),
    (corners.test_a_paused_queue_leases_nothing, {
        "a mode is told twice": ("== mode then return end", "== '' then return end"),
        "a paused queue wakes": ("if conf.paused then return end", ""),
        "a paused queue leases": ("if conf.paused then wanted = {} end", ""),
        "resume wakes nobody": ("wake_lanes(conf)\nreturn", "return"),
        "a late pause pauses": ("if word and tonumber(until_ms) > conf.now then return word end", ""),
    }),
    (partial(limits.test_a_deadline_is_the_first_moment_without_the_lease, verb="release", late=0), {
        "a snoozed lease is given back late": ("tonumber(deadline_ms[i] or 0) <= conf.now", "false"),
    }),
    (partial(corners.test_a_task_that_timed_out_is_renewed_for_its_grace, grace=0), {
        "the timeout is a millisecond late": ("< started_ms + timeout_ms then", "<= started_ms + timeout_ms then"),
        "the grace is a millisecond longer": ("late_ms >= conf.grace_ms", "late_ms > conf.grace_ms"),
    }),
    (partial(corners.test_a_task_that_timed_out_is_renewed_for_its_grace, grace=2000), {
        "a timeout is not told": ("late_ms >= 0 and 'timed_out' or", ""),
    }),
    (corners.test_a_token_stays_for_a_fallback, {
        "a deadline comes twice": ("redis.call('ZREM', deadlines, unpack(ids))", ""),
        "a token for a fallback goes": ("'EXISTS', delayed, deadlines) == 0", "'EXISTS', delayed) == 0"),
        "a lane that tasks moved away from stays": ("if in_line and redis.call('EXISTS', set) ==", "if 1 =="),
        "houses are kept too seldom": ("(conf.now - known) >= 1000 and", "(conf.now - known) > 1000 and"),
    }),
    (corners.test_ended_tasks_are_bounded_by_age_and_number, {
        "one finished task too many": ("'ZCARD', set) - max, limit", "'ZCARD', set) - max - 1, limit"),
        "only age removes": ("if 2 * excess > #gone then", "if false then"),
        "finished tasks are not counted": ("if conf.ended > 0 and", "if false and"),
        "long lanes end early": ("if at[best] > 2 * size then turn(best) end", ""),
        "ended tasks stay a millisecond longer": ("'-inf', conf.now - keep_ms,", "'-inf', conf.now - keep_ms - 1,"),
        "a trim does not say that there is more": ("(removed >= limit or forgotten == limit) and 1 or 0", "0"),
    }),
    (corners.test_a_drained_queue_knows_what_it_took, {
        "a draining queue takes new tasks": ("if conf.draining then", "if false then"),
        "a draining queue refuses its own": ("not known_as(id, stamps[i])", "true"),
        "a draining queue forgets what it merged": ("and not find_twin(conf, envelopes[i], stamps[i])", ""),
    }),
    (corners.test_a_moved_task_still_expires, {
        "a moved task keeps its fallback": ("redis.call('HDEL', task .. id, 'fallback', 'fallback_after_ms')", ""),
        "a moved task never expires": ("await_deadline(conf, id, conf.now)\n      end", "end"),
        "a delayed task moves into line": ("if in_line then line_up(", "if true then line_up("),
        "the later deadline counts": ("at_ms = math.min(at_ms, tonumber(own[3]))", "at_ms = tonumber(own[3])"),
        "a fallback counts from the enqueue": (DEADLINE, DEADLINE.replace("due_ms", "conf.now")),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="release"), {
        "a task that was leased expires": ("local expired = not record.deliveries and", "local expired ="),
    }),
    (corners.test_only_what_was_never_leased_expires, {
        "a leased task waits for its expiry": ("if own[3] and not own[4] then", "if own[3] then"),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="dead"), {
        "a moved task goes to the end": ("record.fallback, score, id)", "record.fallback, score + 99, id)"),
        "a returned task has no deadline": ("if lease.tied then await_deadline(conf, id, back_ms) end", ""),
        "a revived task has no deadline": ("if row[6] then await_deadline(conf, id, conf.now) end", ""),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="fail"), {
        "a failed task has no deadline": ("if lease.tied and answers[i][2] then await", "if false then await"),
    }),
    (corners.test_a_crash_too_many_waits_with_a_deadline, {
        "a stalled task has no deadline": ("if lease.tied and back_ms then await", "if false then await"),
    }),
    (partial(corners.test_what_was_done_to_a_removed_task_is_known_for_a_minute, way="abandon"), {
        "a stub does not know its rid": (KNOWN, "if row[1] == stamp and row[2] then return 'created' end"),
        "a user's index keeps what is gone": ("redis.call('ZREM', by_user .. own[1], id)", ""),
        "a parent's index keeps what is gone": ("redis.call('ZREM', children .. own[3], id)", ""),
        "a stub does not know its settlement": ("if own[5] then redis.call('HSET'", "if false then redis.call('HSET'"),
    }),
    (corners.test_a_purge_leaves_a_key_that_has_gone_over, {
        "an idempotency key stays for ever": ("(until_ms ~= '' and tonumber(until_ms) > conf.now", "(until_ms ~= ''"),
        "a late purge purges": ("note_done(conf, 'purge', #gone .. ':' .. more)", ""),
        "a purge takes another's idempotency key": ("id .. ' ', 1, true) == 1 then", "' ', 1, true) then"),
        "payloads stay": (DELETE, DELETE.replace(" payload .. id,", "")),
        "a stub is left for ever": ("redis.call('PEXPIRE', task .. id, string.format('%.0f', left_ms))", ""),
    }),
    (corners.test_a_scope_ends_with_the_first_lease, {
        "the first payload stays": ("if by == 'scope' and own.coalesce == 'last' then", "if false then"),
        "every payload replaces": ("if by == 'scope' and own.coalesce == 'last' then", "if by == 'scope' then"),
        "a lease ends another's scope": (HELD + " redis.call('HDEL', once, field) end\n  return",
                                         "if field then redis.call('HDEL', once, field) end\n  return"),
        "a task's end ends another's scope": (HELD + " redis.call('HDEL', once, field) end\n  end",
                                              "if field then redis.call('HDEL', once, field) end\n  end"),
        "a retry takes scopes of others": (" or holder_of(id, row[3] and 'scope:' .. row[3])", ""),
        "a retry takes no scope": ("if scope then hold_once(", "if false then hold_once("),
    }),
    (corners.test_a_merged_call_leaves_its_key, {
        "a merged call holds its key again": ("if by == 'rid' then return end", ""),
        "a merged call's own key is not held": ("hold_keys(conf, twin, own, true)", ""),
        "ack keeps the keys": ("      untie(id)\n", ""),
    }),
    (corners.test_only_one_has_a_unique_key, {
        "a retry takes no unique key": ("if unique then hold_once(", "if false then hold_once("),
        "a retry takes keys of others": ("elseif holder then", "elseif false then"),
        "what was done is not known again": ("if answers then return { 'ok', conf.now, answers } end", ""),
    }),
    (partial(corners.test_what_was_done_to_a_removed_task_is_known_for_a_minute, way="dead"), {
        "dead tasks are not counted": ("if tally.dead then", "if false then"),
        "dead tasks go silently": ("if set == dead then emit(", "if false then emit("),
        "a dead task is dropped uncounted": ("set == dead and 'dropped' or 'trimmed'", "'trimmed'"),
    }),
    (corners.test_a_claim_leases_nothing_that_expired, {
        "a claim leases what expired": ("return not own[3] and tonumber(own[2]", "return false and tonumber(own[2]"),
    }),
    (partial(corners.test_results_are_kept_for_their_time, keep=0), {
        "any result is kept": ("if value == '' or keep_ms == 0 then", "if value == '' then"),
    }),
    (partial(corners.test_results_are_kept_for_their_time, keep=5000), {
        "a task's own time of results is ignored": ("own_ms or conf.result_ms", "conf.result_ms or own_ms"),
        "results are shown a millisecond longer": ("tonumber(record.result_until_ms or MAX_SAFE) <= conf.now",
                                                   "tonumber(record.result_until_ms or MAX_SAFE) < conf.now"),
        "results are kept for ever": ("value, 'PX', string.format('%.0f', math.max(2 * keep_ms, 60000))", "value"),
    }),
    (corners.test_a_purge_leaves_what_runs, {
        "a purge of all takes only what waits": ("if what == 'all' then", "if false then"),
    }),
    (partial(lists.lists_by_every_filter, limit=1000), {
        "a list ignores tags": ("and (tag == '' or", "and (true or"),
        "a list ignores the state": ("if found and (state == 'all' or found == state) then", "if found then"),
        "a list follows the largest set": ("count < fewest", "count > fewest"),
    }),
    (partial(lists.pages_under_change, seed=0), {
        "pages leave one out": ("'ZRANK', set, id) + 1 end", "'ZRANK', set, id) + 2 end"),
    }),
    (partial(lists.pages_under_change, seed=4), {
        "who has gone is not passed": ("< (string.byte(id, at) or 0) then", "< 0 then"),
        "pages repeat one": ("'ZRANK', set, id) + 1 end", "'ZRANK', set, id) end"),
    }),
]  # fmt: skip
