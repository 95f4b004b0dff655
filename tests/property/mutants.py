"""Lines of Lua that matter, each with what a mistake would make of it, and who has to notice it."""

from __future__ import annotations

from functools import partial

from tests.property import test_corners as corners
from tests.property import test_limits as limits
from tests.property import test_list as lists
from tests.property import test_work_corners as work
from tests.property.mutants_of_chains import CHAINS, Mutant, Scenario
from tests.property.mutants_of_limits import LIMITS

TOKEN = "if by == token and answers[answer] then"
KNOWN = "if row[1] == stamp or string.find("
HELD = "if field and redis.call('HGET', once, field) == id then"
UNTIE = "if tied and release_holds(ctx, id, 'f') then answer_waiters"
HOUSE = "local trimmed = trim_ended(ctx, 100, counts)"
STUB = "if (left_ms > 0 or linked) and own[4] then"
DELETE = "= task .. id, payload .. id, result .. id, log .. id"
DEADLINE = "if tied then await_deadline(ctx, id, due_ms) end"

BY_THE_MACHINE: dict[str, Mutant] = {
    "one call settles twice": (" or ended[id]", ""),
    "a settlement is not remembered": (TOKEN, TOKEN.replace("==", "~=")),
    "an older settlement answers": (TOKEN, "if answers[answer] then"),
    "release goes to the end of the line": ("lease.lane, lease.score, id)", "lease.lane, lease.score + 99, id)"),
    "a claim is not known again": ("if n == last then return 'replay', given end", ""),
    "promoted tasks stay delayed": ("redis.call('ZREM', delayed, unpack(ids))", ""),
    "sweeps are a millisecond late": ("tonumber(head[2]) <= ctx.now", "tonumber(head[2]) < ctx.now"),
    "fences do not rise": ("redis.call('HINCRBY', config, 'fence', #next_ids)", "#next_ids"),
    "a failing task is not cancelled": ("if lease.cancelling then", "if false then"),
    "ended leases are kept": ("redis.call('ZREM', leases, unpack(ids))", ""),
    "lanes in the wrong order": ("band < best_band", "band <= best_band"),
    "a finished task is cancelled": ("if state == 'completed' or", "if"),
    "a snooze is no longer than a release": ("ctx.now + delays[i] or", "ctx.now or"),
    "an emptied lane keeps its token": ("redis.call('DEL', wake .. lane)", ""),
    "an emptied lane is still listed": ("redis.call('SREM', lanes, lane)", ""),
    "nobody is woken": ("then redis.call('LPUSH', wake .. lane, '1') end", "then return end"),
    "nobody hears of a fallback": ("string.gmatch(own[2] or '', '[^,]+')", "string.gmatch('', '[^,]+')"),
    "nobody hears of a due time": ("if due_ms - ctx.now < 10000 then push_due(lane) end", ""),
    "expired tasks stay in line": ("if reason or (in_line and record.fallback) then", "if false then"),
    "new tasks have no deadline": (DEADLINE, ""),
    "an id is made twice in a call": ("or (seen[id] and 'exists')", ""),
    "any rid is a replay": (KNOWN, "if row[1] or string.find("),
    "a unique key is not asked for": ("'unique:' .. (own.unique or ''))", "'unique:')"),
    "a merged call is not known again": ("hold_once(ctx, 'rid:' .. stamp, twin, 60000)", ""),
    "keys over time are not forgotten": ("redis.call('HDEL', once, unpack(fields))", ""),
    "a lease keeps the scope": (HELD + " redis.call('HDEL', once, field) end\n  return", "return"),
    "dead tasks keep their keys": (UNTIE + "(ctx, id, 'dead", "if false then answer_waiters(ctx, id, 'dead"),
    "cancelled tasks keep their keys": (UNTIE + "(ctx, id, 'canc", "if false then answer_waiters(ctx, id, 'canc"),
    "purged tasks keep their keys": ("if own[1] and release_holds(ctx, id, 'f') and", "if false and"),
    "purged tasks keep their idempotency keys": ("redis.call('HDEL', once, key)", ""),
    "a retried task still expires": ("'crashes', 'expires_at_ms',", "'crashes',"),
    "who keeps house is lost": ("redis.call('ZADD', workers, ctx.now_text, worker)\n  local trimmed", "local trimmed"),
    "workers do not keep house": (HOUSE + "\n  sweep_workers(ctx, counts)", "local trimmed = 0"),
    "results stay": (DELETE, DELETE.replace("result .. id", "task .. id")),
    "a tag's index keeps what is gone": ("leave(by_tag .. tag, id)", ""),
    "no stub is left": (STUB, "if false then"),
    "the timeout of a queue is nothing": (" or ctx.timeout_ms\n", "\n"),
    "a new task goes with the stub": ("redis.call('PERSIST', key)", ""),
    "a tree is its root and its children": ("if has_own and tonumber(", "if false and tonumber("),
    "nobody is told of an end": ("if own[5] or own[6] then", "if false then"),
    "sweeps pass nothing on": ("if ctx.chains then next_ms = math.min(", "if false then next_ms = math.min("),
    "a child is not gathered": ("if own.parent and ctx.chains then", "if false then"),
    "blocked tasks that are cancelled wait on": (
        "redis.call('ZREM', set, id)\n  if record.limited_by", "if record.limited_by"),
}  # fmt: skip

BY_CORNERS: list[tuple[Scenario, dict[str, Mutant]]] = [
    (corners.test_a_stub_goes_a_minute_after_the_end, {
        "a stub lasts from its removal on": ("math.min(60000, (since[i] or ctx.now) + 60000 - ctx.now)", "60000"),
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
        "a paused queue wakes": ("if ctx.paused then return end", ""),
        "a paused queue leases": ("if ctx.paused then wanted = {} end", ""),
        "resume wakes nobody": ("wake_lanes(ctx)\nif ctx.schedules", "if ctx.schedules"),
        "a late pause pauses": ("if word and tonumber(until_ms) > ctx.now then return word end", ""),
    }),
    (partial(limits.test_a_deadline_is_the_first_moment_without_the_lease, verb="release", late=0), {
        "a snoozed lease is given back late": ("tonumber(deadline_ms[i] or 0) <= ctx.now", "false"),
    }),
    (partial(corners.test_a_task_that_timed_out_is_renewed_for_its_grace, grace=0), {
        "the timeout is a millisecond late": ("< started_ms + timeout_ms then", "<= started_ms + timeout_ms then"),
        "the grace is a millisecond longer": ("late_ms >= ctx.grace_ms", "late_ms > ctx.grace_ms"),
    }),
    (partial(corners.test_a_task_that_timed_out_is_renewed_for_its_grace, grace=2000), {
        "a timeout is not told": ("late_ms >= 0 and 'timed_out' or", ""),
    }),
    (corners.test_a_token_stays_for_a_fallback, {
        "a deadline comes twice": ("redis.call('ZREM', deadlines, unpack(ids))", ""),
        "a token for a fallback goes": ("'EXISTS', delayed, deadlines) == 0", "'EXISTS', delayed) == 0"),
        "a lane that tasks moved away from stays": ("if in_line and redis.call('EXISTS', set) ==", "if 1 =="),
        "houses are kept too seldom": ("(ctx.now - known) >= 1000 and", "(ctx.now - known) > 1000 and"),
    }),
    (corners.test_ended_tasks_are_bounded_by_age_and_number, {
        "one finished task too many": ("'ZCARD', set) - max, limit", "'ZCARD', set) - max - 1, limit"),
        "only age removes": ("if 2 * excess > #gone then", "if false then"),
        "finished tasks are not counted": ("if ctx.ended > 0 and", "if false and"),
        "long lanes end early": ("if at[best] > 2 * size then turn(best) end", ""),
        "ended tasks stay a millisecond longer": ("'-inf', ctx.now - keep_ms,", "'-inf', ctx.now - keep_ms - 1,"),
        "a trim does not say that there is more": (
            "(ctx.untrimmed or removed >= limit or forgotten == limit) and 1 or 0", "0"),
    }),
    (corners.test_a_drained_queue_knows_what_it_took, {
        "a draining queue takes new tasks": ("if ctx.draining then", "if false then"),
        "a draining queue refuses its own": ("seen[id] = seen[id] or known_as(id, stamp)", ""),
        "a draining queue forgets what it merged": ("and not find_duplicate(ctx, own, stamp)", ""),
    }),
    (corners.test_a_moved_task_still_expires, {
        "a moved task never expires": ("await_deadline(ctx, id, ctx.paused and ctx.now + 1000 or ctx.now)", ""),
        "a delayed task moves into line": ("if to and in_line then\n", "if to then\n"),
        "the later deadline counts": ("at_ms = math.min(at_ms, tonumber(own[3]))", "at_ms = tonumber(own[3])"),
        "a fallback counts from the enqueue": (DEADLINE, DEADLINE.replace("due_ms", "ctx.now")),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="release"), {
        "a task that was leased expires": ("local expired = not record.deliveries and", "local expired ="),
    }),
    (corners.test_only_what_was_never_leased_expires, {
        "a leased task waits for its expiry": ("if own[3] and not own[4] then", "if own[3] then"),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="dead"), {
        "a moved task goes to the end": ("line_up(by_lane, to, score, id)", "line_up(by_lane, to, score + 99, id)"),
        "a returned task has no deadline": ("if lease.tied then await_deadline(ctx, id, back_ms, due) end", ""),
        "a revived task has no deadline": ("if row[6] then await_deadline(ctx, id, ctx.now) end", ""),
    }),
    (partial(corners.test_a_fallback_counts_from_each_return, way="fail"), {
        "a failed task has no deadline": ("if lease.tied and answers[i][2] then await", "if false then await"),
    }),
    (corners.test_a_crash_too_many_waits_with_a_deadline, {
        "a stalled task has no deadline": ("if lease.tied and back_ms then await", "if false then await"),
    }),
    (partial(corners.test_what_was_done_to_a_removed_task_is_known_for_a_minute, way="abandon"), {
        "a stub does not know its rid": (KNOWN, "if row[1] == stamp and row[2] or string.find("),
        "a user's index keeps what is gone": ("leave(by_user .. own[1], id)", ""),
        "a parent's index keeps what is gone": ("leave(children .. parent, id)", ""),
        "a stub does not know its settlement": ("if own[5] or own[8] then stub", "if false then stub"),
    }),
    (corners.test_a_purge_forgets_every_key_of_a_task, {
        "a purge leaves a second key": ("hold_once(ctx, 'purged:' .. own[5], id, own", "tostring(own"),
        "nobody asks whether it was purged": ("redis.call('HEXISTS', once, 'purged:' .. made_by) == 1", "false"),
        "a second key is not told apart": ("redis.call('HSET', task .. id, 'keys', string", "tostring(string"),
    }),
    (corners.test_a_purge_forgets_keys_that_count_longer_than_new_ones, {
        "a purge is forgotten before the keys": (
            "own[4] == '1' and keep_ms or math.max(own[4] - ctx.now, 1))", "1000)"),
        "a second key is forgotten for a third": ("math.max(row[3] or 0, ctx.now + ctx.keep_ms)",
                                                  "ctx.now + ctx.keep_ms"),
    }),
    (corners.test_a_timeout_that_is_over_when_it_is_set_is_told_before_the_lease_is_lost, {
        "a late timeout is over before it is told": ("math.max(started_ms + timeout_ms, ctx.timeout_set_ms)",
                                                     "(started_ms + timeout_ms)"),
        "a task's own timeout begins when another is set": ("if timeout_ms == ctx.timeout_ms then return",
                                                            "if true then return"),
        "when a timeout was set is not known": ("'timeout_set_ms', ctx.now_text)", "'timeout_set_ms', '0')"),
    }),
    (corners.test_an_id_that_is_used_again_does_not_hide_the_call_before, {
        "the call before is forgotten": ("redis.call('HSET', key, 'earlier', calls)", ""),
        "the calls before are not asked for": ("' ' .. stamp .. ' ', 1, true)", "'?', 1, true)"),
        "a stub forgets the calls before": ("if own[7] then stub", "if false then stub"),
    }),
    (corners.test_of_leases_that_expire_at_once_the_first_in_line_go_first, {
        "leases expire by their ids": ("if place[a] ~= place[b] then", "if false then"),
        "a sweep takes any hundred": (
            "ids = first_leases(ctx, count)", "for i = #ids, count + 1, -1 do ids[i] = nil end"),
    }),
    (corners.test_of_tasks_that_crash_again_at_once_the_first_in_line_go_first, {
        "tasks that crashed again go by their ids": ("if tied then ids = first_due(page, last) or ids end", ""),
        "nobody knows that tasks crashed again": ("'HSET', config, 'crashed_due_ms'", "'HSET', config, 'x'"),
        "a promotion takes any that are due at once": ("if page[2 * limit + 2] == last then", "if false then"),
    }),
    (corners.test_a_sweep_of_all_that_crashed_again_has_their_order, {
        "a sweep goes by ids": ("if tied then ids = first_due(page, last) or ids end", ""),
    }),
    (corners.test_a_purge_leaves_a_key_that_has_gone_over, {
        "an idempotency key stays for ever": ("(until_ms ~= '' and tonumber(until_ms) > ctx.now", "(until_ms ~= ''"),
        "a late purge purges": ("note_done(ctx, 'purge', #gone .. ':' .. more)", ""),
        "a purge takes another's idempotency key": ("id .. ' ', 1, true) == 1 then", "' ', 1, true) then"),
        "payloads stay": (DELETE, DELETE.replace("payload .. id", "task .. id")),
        "a stub is left for ever": ("redis.call('PEXPIRE', one[2][1], one[1])", ""),
    }),
    (corners.test_a_scope_ends_with_the_first_lease, {
        "the first payload stays": ("if by == 'scope' and own.coalesce == 'last' then", "if false then"),
        "every payload replaces": ("if by == 'scope' and own.coalesce == 'last' then", "if by == 'scope' then"),
        "a lease ends another's scope": (HELD + " redis.call('HDEL', once, field) end\n  return",
                                         "if field then redis.call('HDEL', once, field) end\n  return"),
        "a task's end ends another's scope": ("if held[i] == id then mine", "if held[i] then mine"),
        "a retry takes scopes of others": (" or holder_of(id, row[3] and 'scope:' .. row[3])", ""),
        "a retry takes no scope": ("if scope then hold_once(", "if false then hold_once("),
    }),
    (corners.test_a_merged_call_leaves_its_key, {
        "a merged call holds its key again": ("if by == 'rid' then return end", ""),
        "a merged call's own key is not held": ("hold_keys(ctx, twin, own, true)", ""),
        "ack keeps the keys": ("if tied and tied < bar then awaited, own_ms = release_holds(ctx, id, 'c') end", ""),
    }),
    (corners.test_only_one_has_a_unique_key, {
        "a retry takes no unique key": ("if unique then hold_once(", "if false then hold_once("),
        "a retry takes keys of others": ("elseif holder then", "elseif false then"),
        "what was done is not known again": ("if answers then return { 'ok', ctx.now, answers } end", ""),
    }),
    (partial(corners.test_what_was_done_to_a_removed_task_is_known_for_a_minute, way="dead"), {
        "dead tasks are not counted": ("if counts.dead then", "if false then"),
        "dead tasks go silently": ("for i = 1, set == dead and count or 0 do", "for i = 1, 0 do"),
        "a dead task is dropped uncounted": ("set == dead and 'dropped' or 'trimmed'", "'trimmed'"),
    }),
    (corners.test_a_claim_leases_nothing_that_expired, {
        "a claim leases what expired": ("return not own[3] and tonumber(own[2]", "return false and tonumber(own[2]"),
    }),
    (partial(corners.test_results_are_kept_for_their_time, keep=0), {
        "any result is kept": ("if value == '' or keep_ms == 0 then", "if value == '' then"),
    }),
    (partial(corners.test_results_are_kept_for_their_time, keep=5000), {
        "a task's own time of results is ignored": ("own_ms or ctx.result_ms", "ctx.result_ms or own_ms"),
        "results are shown a millisecond longer": ("tonumber(record.result_until_ms or MAX_SAFE) <= ctx.now",
                                                   "tonumber(record.result_until_ms or MAX_SAFE) < ctx.now"),
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
    *CHAINS,
    *LIMITS,
    (work.test_a_chain_is_followed_to_its_end, {
        "a moved task keeps its fallback": ("if rest == '' then redis.call(", "if false then redis.call("),
        "a chain ends after one lane": ("'lane', lane, 'fallback', rest)", "'lane', lane, 'fallback', '')"),
        "nobody comes and nothing happens": ("local last = record.unclaimed == 'fail'", "local last = false"),
        "a task fails before its last lane": ("and not record.fallback and not ctx.paused", "and not ctx.paused"),
        "a task fails while nobody can come": ("record.fallback and not ctx.paused", "record.fallback"),
        "the last lane has no end": ("~= 'fail' and 'fallback_after_ms' or nil", "and 'fallback_after_ms'"),
        "nobody is told that nobody came": ("move_to_dead(ctx, expired and", "move_to_dead(ctx, expired or"),
    }),
    (partial(work.test_whoever_waits_for_a_task_is_answered, way="ack"), {
        "no reply to a result": ("if awaited then", "if false then"),
        "a reply without its result": ("fits and results[i] or '')", "'')"),
        "a reply for ever": ("string.format('%.0f ', ctx.now + ctx.reply_ms)", "'9007199254740991 '"),
        "a reply that the server keeps": ("string.format('%.0f', math.max(2 * ctx.reply_ms, 60000))", "'1000000000'"),
        "a reply is shown a millisecond longer": ("how and tonumber(until_ms) > ctx.now",
                                                  "how and tonumber(until_ms) >= ctx.now"),
        "everybody gets a reply": ("return own[3], own[4] and", "return '1', own[4] and"),
        "nobody knows whether to wait": ("record.reply and 1 or 0", "0"),
    }),
    (partial(work.test_whoever_waits_for_a_task_is_answered, way="dead"), {
        "no reply to a death": ("then answer_waiters(ctx, id, 'dead ' .. reason, error or '') end", "then end"),
    }),
    (partial(work.test_whoever_waits_for_a_task_is_answered, way="cancelling"), {
        "no reply to a cancelled task": ("then answer_waiters(ctx, id, 'cancelled', '') end", "then end"),
    }),
    (partial(work.test_whoever_waits_for_a_task_is_answered, way="purge"), {
        "no reply to a purged task": ("then answer_waiters(ctx, id, 'removed', '') end", "then end"),
    }),
    (partial(work.test_whoever_waits_for_a_task_is_answered, way="reap"), {
        "a reply after its end": ("and set ~= finished and set ~= dead then answer_waiters", "then answer_waiters"),
    }),
    (work.test_an_id_that_is_used_again_is_answered_for_itself, {
        "an older task answers": ("(record.reply or not state) and redis.call('GET'", "redis.call('GET'"),
        "a task that was waited for is forgotten": ("if not own[6] then keys", "if true then keys"),
        "an older task's reply stays": ("if not own[6] then keys", "if false then keys"),
    }),
    (work.test_a_failure_says_when_and_how_long_and_whom_to_tell, {
        "a failure's delay is ignored": ("extra.delay_ms or backoff(", "backoff("),
        "a failure's timeout is ignored": ("if extra.timeout_ms then", "if false then"),
        "a failure's timeout is not looked at": ("extra.timeout_ms, 'ties', '1')", "extra.timeout_ms)"),
        "nobody is alerted": ("if extra.alert then emit(", "if false then emit("),
        "a record's error is not shown": ("return { 'dead', record.reason or 'error', record.error or '' }",
                                          "return { 'dead', record.reason or 'error', '' }"),
        "a reply without its error": ("lease.tied, counts, fails.error[i], shown)", "lease.tied, counts, nil, shown)"),
        "no exit code": ("if extra.exit_code then", "if false then"),
        "an exit code stays": ("redis.call('HDEL', task .. id, 'exit_code')", ""),
        "an exit code outlasts a retry": ("'reason', 'error', 'exit_code',", "'reason', 'error',"),
    }),
    (work.test_a_crash_loop_has_no_exit_code, {
        "a crash has the error of a failure": ("redis.call('HDEL', task .. id, 'error', 'exit_code')", ""),
    }),
    (work.test_progress_is_noted_once, {
        "a note counts twice": ("if any then note_answers(ctx, 'progress', answers) end", ""),
        "any token notes progress": ("lease and lease.token == item_token[i] and", "lease and"),
        "progress past the deadline": ("and tonumber(deadlines[i] or 0) > ctx.now", ""),
        "a log without end": ("redis.call('LTRIM', log .. id, -100, -1)", ""),
        "a log of the first lines": ("'LTRIM', log .. id, -100, -1)", "'LTRIM', log .. id, 0, 99)"),
        "the newest line first": ("redis.call('RPUSH', log .. id", "redis.call('LPUSH', log .. id"),
        "progress does not say what is wanted": ("lease.cancelling and 'cancelling' or 'noted'", "'noted'"),
        "a line of the log is an event": ("if own.ppm or own.text then emit(", "if true then emit("),
        "logs stay": (DELETE, DELETE.replace("log .. id", "task .. id")),
    }),
    (work.test_a_worker_hears_what_is_wanted_of_it, {
        "a worker is not told to ask": ("push_control(ctx, name)\n    emit", "emit"),
        "a worker has many tokens": ("if redis.call('EXISTS', control .. name) == 0 then redis.call('LPUSH'",
                                     "if true then redis.call('LPUSH'"),
        "a token for ever": ("redis.call('PEXPIRE', control .. name, 60000)", ""),
        "a mode is not kept": ("if mode ~= 'keep' then", "if false then"),
        "a mode is not told": ("return own[2] or 'run',", "return 'run',"),
        "a mode that nobody named": ("if mode ~= 'keep' then", "if true then"),
        "a capacity that nobody named": ("if capacity > 0 then", "if true then"),
        "a late steer steers": ("note_answers(ctx, 'steer', answers)", ""),
        "who is silent is steered": ("tonumber(seen[i] or 0) <= ctx.now - presence_ms", "not seen[i]"),
        "a heartbeat is not heard": ("if own[4] == '0' then", "if false then"),
        "a heartbeat is no sign of life": ("redis.call('ZADD', workers, 'XX', ctx.now_text, worker)", ""),
        "a heartbeat does not say how busy": ("if busy >= 0 then redis.call(", "if false then redis.call("),
        "a heartbeat makes a worker up": ("if not own[1] then return 'run', 0 end\n  redis.call('ZADD', workers, 'XX',",
                                          "redis.call('ZADD', workers,"),
        "who is replaced is not told": ("if row[1] then push_control(ctx, worker) end", ""),
        "who was replaced is steered on": ("redis.call('DEL', worker_hash .. name)", ""),
        "the silent are shown": ("seen_ms > alive_since_ms and shown_worker", "shown_worker"),
    }),
    (work.test_a_cancelled_task_has_its_worker_told_once, {
        "a cancel is not told": ("push_control(ctx, string.match(held, '^.* (%S+)$'))", ""),
        "a cancel is told again": ("if held and not string.find(held, ' cancel|', 1, true) then", "if held then"),
    }),
    (work.test_a_worker_that_stops_gives_back_what_it_has, {
        "a worker keeps its tasks": ("return_leases(ctx, item_id, item_token, nil, counts)\n  if ctx", "if ctx"),
        "what is given back is not counted": ("retain(ctx, counts)\n  add_counts(counts)\nend\nlocal row",
                                              "retain(ctx, counts)\nend\nlocal row"),
    }),
    (work.test_some_kinds_are_leased_alone, {
        "no kind is leased alone": ("if alone_kinds[1] then", "if false then"),
        "tasks follow one that is leased alone": ("if alone then limit = 1 end", ""),
        "one that is leased alone follows others": ("((alone or bytes + size > 4194304)", "((bytes + size > 4194304)"),
        "one that is leased alone needs nobody before it": (
            "bytes + size > 4194304) and #leased > 0)", "bytes + size > 4194304))"),
    }),
    (work.test_lane_first_takes_lanes_in_order, {
        "lanes are never first": ("band < best_band and not lane_first", "band < best_band"),
        "lanes are always first": ("band < best_band and not lane_first", "false"),
        "a claim does not say how busy": ("busy < 0 and '' or busy + #leased", "''"),
        "a claim does not count its own": ("busy < 0 and '' or busy + #leased", "busy < 0 and '' or busy"),
    }),
]  # fmt: skip
