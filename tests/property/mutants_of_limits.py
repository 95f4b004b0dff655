"""The same for limits and fair shares: lines of Lua that matter, what a mistake would make of each, and who notices."""

from __future__ import annotations

from functools import partial

from tests.property import test_limit_corners as corners
from tests.property import test_queue_limits as limits
from tests.property import test_shares as shares
from tests.property.model_limits import Rule
from tests.property.mutants_of_chains import Mutant, Scenario

BEYOND = "peek_ready(wanted, ctx.limits and limit + 100 or limit)"
FREE = "if ctx.limits then free_limits(ctx, ids) end"
JOIN = "return join_limit(ctx, id, string.format"
STALE = "line.scores[id] == score and redis.call"
LATER = "batch.looks[#batch.looks + 1] = left + most > 0 and ctx.now + 1 - BAND or line.recheck_at_ms"
LEFT = "left + most > 0 and ctx.now + 1 - BAND"
LINE = "if record.limited_by then leave_line(id, record.limited_by) end"
LEAVES = "  redis.call('ZREM', waiting .. key, id)\n  if redis.call('EXISTS'"
ROOM = "if limit.held >= limit.most then return 0, ctx.full end"
CHANGED = "if ctx.limits then drain_due_limit_queues(ctx) end"
SLACK = "slack_ms = (burst - 1) * interval_ms"
MORE = "if again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms) then room = 100 end"
OLDEST = "redis.call('ZRANGE', holding .. limit.key, lined, lined)[1]"
BY_TURNS = "(ctx.fair and share_place(ctx, own.lane or 'any', own.user or '', band) or place)"
GONE = "if not deadlines_ms[i] then redis.call('ZREM', holding .. key, id) end"
SPARED = "if other ~= full then ctx.spared[#ctx.spared + 1] = other.key end"
READY_MS = "redis.call('HDEL', task .. id, 'limited_by')"
FORGET = "if next_ms > ctx.now + limit.slack_ms + limit.interval_ms + 1 then next_ms = 0 end"
TOP = "ctx.fair_top = own.place + 1000000"
UPTO = "'BYSCORE',\n        'LIMIT', 0, 100) or {}\n      if #over > 0 then redis.call('ZREM', shares .. lane"

LIMITS: list[tuple[Scenario, dict[str, Mutant]]] = [
    (limits.histories, {
        "another's slot is freed": ("redis.call('ZREM', holding .. key, unpack(freed[key]))",
                                    "redis.call('ZPOPMIN', holding .. key)"),
        "who goes is shown as limited": (READY_MS, ""),
        "who goes stays in line": ("elseif passed > 0 then\n    redis.call('ZREMRANGEBYRANK'",
                                   "elseif false then\n    redis.call('ZREMRANGEBYRANK'"),
        "a claim starts one too many": (ROOM + "\n    room = limit.most - limit.held",
                                        ROOM.replace(">=", ">") + "\n    room = limit.most - limit.held + 1"),
        "who starts does not count in this claim": ("limit.held = limit.held + 1", ""),
        "who starts is not noted": ("redis.call('ZADD', holding .. limit.key, fence, id)", ""),
        "a start is not counted by its rate": ("limit.next_ms = limit.next_ms + limit.interval_ms", ""),
        "a rate is forgotten": ("string.format('%.3f', limit.next_ms), limit.key\n", "ctx.now_text, limit.key\n"),
        "a burst is one more": (SLACK, "slack_ms = burst * interval_ms"),
        "who ends counts on": ("redis.call('ZREM', holding .. key, unpack(freed[key]))", ""),
        "ends free nothing": (FREE, ""),
        "a lease does not say what it holds": ("limited = ' limits=' .. limited", "limited = ''"),
        "only the first limit is asked": ("if room == 0 then return limit, recheck_at_ms end", "return nil"),
        "the last full limit holds": (
            "for _, limit in ipairs(limited) do\n    local room, recheck_at_ms",
            "for at = #limited, 1, -1 do local limit = limited[at]\n    local room, recheck_at_ms",
        ),
        "lines go backwards": ("'ZRANGE', waiting .. key, 0, most + 9, 'WITHSCORES')",
                               "'ZRANGE', waiting .. key, 0, most + 9, 'REV', 'WITHSCORES')"),
        "who goes stays blocked": ("redis.call('ZREM', blocked, unpack(freed, first", "tostring(unpack(freed, first"),
        "who goes is in another lane": ("line_up(batch.by_lane, own[5] or 'any', score, id)\n      if own[6]",
                                        "line_up(batch.by_lane, 'any', score, id)\n      if own[6]"),
        "who joins a line has no place": ("redis.call('ZADD', blocked, score, id)\n  redis.call('ZADD', waiting",
                                          "redis.call('ZADD', blocked, 0, id)\n  redis.call('ZADD', waiting"),
        "nobody looks at a line": ("redis.call('ZADD', limit_lines, 'LT', recheck_at_ms, limit.key)", ""),
        "a line is looked at once": (LATER, "batch.looks[#batch.looks + 1] = MAX_SAFE"),
        "a full limit is looked at in a minute": (ROOM, ROOM.replace("ctx.full", "ctx.now + 60000")),
        "who is in line joins at another time": ("string.format('%.0f', score), limit, ctx.full, tied)",
                                                 "string.format('%.0f', score), limit, ctx.now + 60000, tied)"),
        "lines wait where one has room": (
            "room, recheck_at_ms = MAX_SAFE, ctx.now + 5000", "room, recheck_at_ms = MAX_SAFE, ctx.full"),
        "lines of a changed kind stay shut": ("if ctx.rules_ms > 1 then", "if false then"),
        "a changed limit stays shut": (
            "if looks[1] then redis.call('ZADD', limit_lines", "if false then redis.call('ZADD', limit_lines"),
        "a full limit was full before": ("BAND + math.max(now, ctx.rules_ms + 1)", "BAND"),
        "who is cancelled stays in line": (LINE + "\n  if state", "if state"),
        "who is purged stays in line": ("if own[3] then leave_line(id, own[3]) end", ""),
        "who leaves stays in line": (LEAVES, LEAVES.partition("\n")[2]),
        "who leaves is shown as limited": ("redis.call('HDEL', task .. id, 'limited_by')\n" + LEAVES, LEAVES),
        "a line of nobody is looked at": (
            "if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end", ""),
        "due lines stay shut": (CHANGED, ""),
        "enqueue passes the line": ("local limit = ctx.limits and find_line(ctx, own)", "local limit = nil"),
        "what waits is in two sets": (JOIN, f"line_up(by_lane, own.lane or 'any', score, id)\n      {JOIN}"),
        "rejected tasks wait": ("if full.policy == 'reject' then", "if false then"),
        "the newest waits": ("elseif full.policy == 'cancel_newest' then", "elseif false then"),
        "a rule of all goes first": ("rules[2 * i - 1] or rules[2 * i]", "rules[2 * i] or rules[2 * i - 1]"),
        "rules of all hold for nobody": ("rules[2 * i - 1] or rules[2 * i]", "rules[2 * i - 1]"),
        "all are not limited": ("local keys, seen = { 'all' }, {}", "local keys, seen = {}, {}"),
        "limit keys are not read": ("elseif name == 'limits' then words = record[f + 1]", "elseif false then"),
    }),
    (corners.test_a_task_counts_for_each_of_its_keys_once, {
        "who has a tag twice counts twice": ("if not seen[key] then keys[#keys + 1]", "if true then keys[#keys + 1]"),
        "only the first tag counts": ("string.gmatch(list, '[^,]+')", "string.gmatch(list, '^[^,]+')"),
    }),
    (corners.test_no_more_run_than_may, {
        "a line lets all go": ("most = most - 1\n      redis.call", "redis.call"),
        "who waits is not shown as limited": ("redis.call('HSET', task .. id, 'limited_by', limit.key)", ""),
    }),
    *[
        (partial(corners.test_every_end_frees_a_slot, way=way), {f"{way} frees nothing": (FREE, "")})
        for way in corners.WAYS
    ],
    (corners.test_two_that_end_in_one_call_free_two, {
        "the second end frees nothing": ("if ctx.limit[key] then ctx.limit[key].held = nil end", ""),
    }),
    (corners.test_a_limit_is_set_by_one_call_once, {
        "a limit is set again": ("replayed_answers(ctx, 'set_limits', item_count)", "nil"),
        "a limit stays": ("redis.call('HDEL', limits, key)", ""),
        "the same limit is set": ("if old == rules[i] then", "if false then"),
    }),
    (corners.test_how_a_key_stands, {
        "a rule of all is not shown": ("rule = rule[1] or rule[2]", "rule = rule[1]"),
        "the next start is without its burst": (" - (burst - 1) * interval_ms\n    answers", "\n    answers"),
    }),
    (corners.test_a_lost_holder_is_forgotten, {
        "a lost holder holds for ever": (GONE, ""),
        "nobody mends lines": ("mend_lines(ctx)\n", "\n"),
        "a line is mended before it is opened": (
            "BAND + ctx.now - 60000, 'BYSCORE'", "BAND + ctx.now - 59000, 'BYSCORE'"),
        "a line that is mended stays shut": ("if keys[1] then drain_limit_queues(ctx, keys) end", ""),
    }),
    (corners.test_a_lost_holder_behind_a_hundred_is_forgotten, {
        "only the first holders are looked at": ("% pages * 100", "* 0"),
        "a page of holders is never the last": ("'ZCOUNT', holding .. key, '-inf', upto)", "'EXISTS', holding .. key)"),
    }),
    *[
        (partial(corners.test_a_lost_holder_ends_nobody, policy=policy), {
            f"a lost holder ends others by {policy}": ("mend_holders(ctx, full.key)", ""),
            f"who starts in this claim is forgotten by {policy}": (
                "ctx.fence and string.format('%.0f', ctx.fence) or '+inf'", "'+inf'"),
        })
        for policy in ("reject", "cancel_newest")
    ],
    (corners.test_an_empty_line_of_a_full_limit_is_forgotten, {
        "an empty line stays": (
            "emptied or (passed == #first and redis.call('EXISTS', waiting .. key) == 0)", "emptied"),
    }),
    (corners.test_lines_of_a_changed_kind_have_their_turn, {
        "lines that are due each time keep others from their turn": ("more = math.max(more, 20)", ""),
    }),
    (corners.test_starts_are_even_after_a_burst, {
        "a rate is early": ("limit.slack_ms - 0.5", "limit.slack_ms - 50"),
        "a burst is one": (SLACK, "slack_ms = 0"),
        "a start is late": ("math.ceil(ctx.now + ahead_ms + starts * limit.interval_ms)", "ctx.now + 5000"),
    }),
    (corners.test_a_rate_that_was_not_used_lets_no_more_than_a_burst_start, {
        "starts are counted short": ("math.floor(-ahead_ms / limit.interval_ms) + 1", "1"),
        "what was not used is saved up": ("limit.next_ms = math.max(ctx.now, next_ms)", "limit.next_ms = next_ms"),
    }),
    (corners.test_a_rate_is_kept_over_a_long_time, {
        "an interval is whole": ("string.format('%.6f', own.period_ms / own.starts)",
                                 "string.format('%.0f', own.period_ms / own.starts - 0.5)"),
    }),
    (corners.test_who_asks_is_told_when_the_next_may_start, {
        "nobody is told of a line": ("if ctx.limits then next_ms = end_limited(",
                                     "if false then next_ms = end_limited("),
        "what is due before is not told": (
            "return next_ms == 0 and recheck_at_ms or math.min(recheck_at_ms, next_ms)", "return next_ms"),
    }),
    (corners.test_a_rate_that_is_changed_holds_at_once, {
        "another rule's time holds": (FORGET, ""),
        "any time is another rule's": (FORGET, FORGET.replace("limit.slack_ms + limit.interval_ms + 1", "0")),
    }),
    (corners.test_a_rate_that_is_over_is_forgotten, {
        "rates stay": ("if #over > 0 then redis.call('ZREM', rates, unpack(over)) end", ""),
        "rates go too early": ("'ZRANGE', rates, '-inf', ctx.now,", "'ZRANGE', rates, '-inf', ctx.now + 1000,"),
        "rates are not swept": ("sweep_rates(ctx)\n", "\n"),
    }),
    (corners.test_whom_a_new_rule_lets_go, {
        "no more than a hundred go": (LATER, "batch.looks[#batch.looks + 1] = line.recheck_at_ms + 5000"),
        "a line is always looked at": ("redis.call('ZREM', limit_lines, key)", ""),
        "a look is at 99": ("math.min(line.room, 100, ctx.steps)", "math.min(line.room, 99, ctx.steps)"),
    }),
    (corners.test_a_line_that_has_room_is_looked_at_again_after_5_s, {
        "a line is looked at too late": ("MAX_SAFE, ctx.now + 5000", "MAX_SAFE, ctx.now + 5001"),
        "a line is looked at too often": ("MAX_SAFE, ctx.now + 5000", "MAX_SAFE, ctx.now + 4999"),
    }),
    *[
        (partial(corners.test_a_changed_limit_holds_for_the_next_claim, key=key, rule=Rule(3)), mutants)
        for key, mutants in {
            "user:a": {"a limit that changed is not looked at": ("if looks[1] then redis", "if false then redis")},
            "user:*": {
                "limits that changed are not looked at": ("if kinds then changed_ms", "if false then changed_ms"),
                "a change has the time of another": ("math.max(ctx.now, (ctx.rules_ms or 0) + 1)", "ctx.now"),
            },
        }.items()
    ],
    (corners.test_many_lines_are_looked_at_by_many_claims, {
        "nobody hears that there are more lines": ("ctx.lines_left = left or more == 0", ""),
        "all lines are looked at at once": ("'LIMIT', 0, more)", "'LIMIT', 0, more + 100)"),
    }),
    (corners.test_lines_of_slow_rates_are_looked_at_together, {
        "each line of a slow rate is looked at on its own": ("ctx.now - ctx.now % 5000 + 5000", "ctx.now + 5000"),
    }),
    *[
        (partial(corners.test_a_claim_under_a_rate_leaves_a_token_for_another_worker, lined=lined), {
            f"nobody else hears of a rate{' that holds back' if lined else ''}": (
                "for lane in pairs(ctx.timed) do push_due(lane) end", ""),
            f"each claim leaves a token{' where one is held back' if lined else ''}": (
                "for lane in pairs(ctx.timed) do", "for _, lane in ipairs({ 'any', 'group/g' }) do"),
        })
        for lined in (True, False)
    ],
    (partial(corners.test_a_claim_under_a_rate_leaves_a_token_for_another_worker, lined=False), {
        "who starts leaves no token": ("if limit.interval_ms then\n      ctx.timed[ctx.lane] = true",
                                       "if limit.interval_ms then"),
    }),
    *[
        (partial(corners.test_who_does_not_use_its_turn_leaves_it_to_the_next, policy=policy), {
            f"a turn of one that is {policy} is lost": (SPARED, ""),
        })
        for policy in ("reject", "cancel_newest")
    ],
    (partial(corners.test_who_does_not_use_its_turn_leaves_it_to_the_next, policy="expired"), {
        "a turn of one that is expired is lost": (
            "for _, limit in ipairs(limited or {}) do ctx.spared", "for _, limit in ipairs({}) do ctx.spared"),
    }),
    (corners.test_nobody_looks_at_the_lines_of_full_limits, {
        "full limits are looked at each 5 s": (ROOM, ROOM.replace("ctx.full", "ctx.now + 5000")),
        "whoever waits hears of no change": ("math.min(recheck_at_ms, ctx.now + 5000))", "recheck_at_ms)"),
        "all lines are mended at once": ("- 60000, 'BYSCORE', 'LIMIT', 0, 25)", "- 60000, 'BYSCORE', 'LIMIT', 0, 99)"),
    }),
    (corners.test_one_call_lets_so_many_go, {
        "a call lets any number go": ("ctx.steps = ctx.steps - 1 - passed / 2", ""),
        "an end lets nobody else go": ("ctx.steps = ctx.steps + 2 * #ids", ""),
        "lines that are left stay shut": (
            "'ZADD', limit_lines, 'XX', 'LT', unpack(later", "'ZADD', limit_lines, 'NX', unpack(later"),
    }),
    (corners.test_a_short_line_is_not_held_up_by_long_ones, {
        "long lines go first": (LEFT, LEFT.replace("now + 1", "now - 1")),
    }),
    (partial(corners.test_who_ends_in_line_leaves_it, way="expire"), {
        "who expires stays in line": (LINE + "\n        redis", "redis"),
    }),
    (corners.test_what_older_versions_left_in_lines_holds_nobody_up, {
        "what was left is let go": (STALE, "redis.call"),
        "who waits elsewhere is let go": ("if own[7] == key then\n      most", "if own[7] then\n      most"),
        "what was left uses up the room": ("passed = passed + 2\n", "passed, most = passed + 2, most - 1\n"),
        "what was left stays": ("if not scores[i] then redis.call('ZREM', waiting .. key, id) end", ""),
    }),
    (corners.test_a_dead_task_of_an_older_version_is_in_no_line, {
        "who was in line is limited again": ("'progress_text', 'limited_by')", "'progress_text')"),
    }),
    (corners.test_none_goes_for_one_that_was_cancelled_in_line, {
        "one goes for nobody": (LINE + "\n  if state", "if state"),
    }),
    (corners.test_large_tasks_that_may_not_start_hold_up_no_other, {
        "the bytes of who waits count": (
            "bytes + size > 4194304", "(function() bytes = bytes + size return bytes end)() > 4194304"),
        "a reply has no end": ("alone or bytes + size > 4194304", "alone"),
    }),
    (corners.test_a_claim_looks_beyond_a_hundred_that_may_not_start, {
        "a claim looks at no more than it takes": (BEYOND, "peek_ready(wanted, limit)"),
        "a claim takes all that it looks at": ("if #leased == limit or (ctx.met", "if (ctx.met"),
    }),
    (corners.test_a_lane_without_workers_holds_up_no_other, {
        "a lane without workers holds up others": (MORE, ""),
        "no later look lets more go": ("drain_limit_queues(ctx, again, true)", "drain_limit_queues(ctx, again)"),
    }),
    (corners.test_a_lane_without_workers_holds_up_no_other_by_a_rate, {
        "a rate lets one lane hold up others": ("(limit.idle or not limit.interval_ms)", "not limit.interval_ms"),
        "a rate is idle at once": ("limit.idle = next_ms - limit.slack_ms <= ctx.now - 5000", "limit.idle = true"),
    }),
    (corners.test_one_limit_holds_up_no_other, {
        "a spared slot is free for 5 s": (SPARED, ""),
        "spared slots are not given": ("if lined[1] then drain_limit_queues(ctx, lined) end\n  local recheck_at_ms",
                                       "local recheck_at_ms"),
    }),
    (corners.test_a_task_in_a_line_does_not_wait_for_others, {
        "an end is for one in a line": ("if own[8] then return end", ""),
        "one in a line gathers": ("if own[1] and not own[2] then", "if own[1] then"),
    }),
    (corners.test_a_task_in_a_line_expires_and_goes_to_no_other_lane, {
        "who is in a line waits for a worker": ("redis.call('ZREM', deadlines, id)\n  if own[1] and not own[2]",
                                                "if own[1] and not own[2]"),
        "who is in a line does not expire": ("if own[1] and not own[2] then redis.call('ZADD', deadlines",
                                              "if false then redis.call('ZADD', deadlines"),
        "who goes from a line has no deadline": (
            "if own[6] then await_deadline(ctx, id, ctx.now, batch.due, own) end", ""),
    }),
    (corners.test_who_may_not_start_is_rejected, {
        "nobody says why": ("redis.call('HSET', task .. id, 'reason', 'limited')", ""),
    }),
    (corners.test_who_waits_goes_one_by_one_where_others_are_rejected, {
        "whoever waits is let go to be rejected": (MORE, MORE.replace("limit.policy == 'queue'", "true")),
    }),
    (corners.test_who_waits_is_not_rejected_where_there_is_no_room, {
        "any policy has a line": (" and limit.policy == 'queue' then return limit end", " then return limit end"),
    }),
    (corners.test_the_oldest_is_cancelled, {
        "the oldest stays": ("if full.policy == 'cancel_oldest' and full.held", "if false and full.held"),
        "the second oldest goes": (OLDEST, OLDEST.replace("lined, lined", "lined + 1, lined + 1")),
        "the oldest goes for all": (OLDEST, OLDEST.replace("lined, lined", "0, 0")),
        "nobody in line goes": ("if lined < limit.most then", "if true then"),
    }),
    (corners.test_the_oldest_of_a_claim_is_cancelled, {
        "who starts in the same claim is not cancelled": (
            "for _, id in ipairs(ctx.victims) do cancel_one(ctx, id, counts) end", ""),
    }),
    (shares.histories, {
        "enqueued tasks take no turns": (BY_TURNS, "place"),
        "promoted tasks take no turns": ("local own_place = ctx.fair and share_place(ctx, own[2] or 'any', own[4]",
                                         "local own_place = nil and share_place(ctx, own[2] or 'any', own[4]"),
        "retried tasks take no turns": ("local own_place = ctx.fair and share_place(ctx, row[4] or 'any', row[7]",
                                        "local own_place = nil and share_place(ctx, row[4] or 'any', row[7]"),
        "tasks that are free take no turns": ("if ctx.fair then score = band * BAND + share_place(",
                                              "if false then score = band * BAND + share_place("),
        "newcomers start at the beginning": ("local from = math.max(ctx.fair, row[1] and row[1] % BAND or 0)",
                                             "local from = ctx.fair"),
        "newcomers come last": ("highest[lane][band] or 0, scores[i])", "highest[lane][band] or 0, scores[i] + 9000)"),
        "who has enqueued before is a newcomer": ("math.max(from, row[2] and row[2] % BAND or 0)", "from"),
        "a call's tasks start at once": ("own.place = place + own.lasts", "own.place = place"),
        "weights do not count": ("math.ceil(100000 / weight_pct)", "1000"),
        "all tasks have weights": ("user ~= '' and redis.call('HGET', weights, user) or 100",
                                   "redis.call('HGET', weights, user == '' and 'a' or user) or 100"),
        "claims do not count": ("if ctx.fair then note_claimed(ctx, wanted, from, scores, taken) end", ""),
        "a claim may go back": ("shares .. lane, 'GT', string.format('%.0f', score)",
                                "shares .. lane, string.format('%.0f', score)"),
        "priorities share": ("own.place), band .. user)", "own.place), '5' .. user)"),
        "users that wait are forgotten": ("'(' .. upto, 'BYSCORE'", "'(' .. (upto + 900), 'BYSCORE'"),
        "a place is kept in a call": ("local name = lane .. ' ' .. band .. user", "local name = user"),
    }),
    (shares.test_twenty_thousand_do_not_delay_ten, {
        "the first to come is first of all": ("row[1] and row[1] % BAND or 0)",
                                              "row[1] and row[1] % BAND or redis.call('HGET', config, 'place'))"),
    }),
    (shares.test_a_weight_is_set_by_one_call_once, {
        "a weight is set again": ("if not done_before(ctx, 'set_weights') then", "if true then"),
        "a weight is never taken away": ("redis.call('HDEL', weights, user)", ""),
        "a weight that nobody set": ("found[i] or '100'", "found[i] or '0'"),
    }),
    (shares.test_who_is_forgotten_starts_like_a_newcomer, {
        "users are remembered": ("if #over > 0 then redis.call('ZREM', shares .. lane, unpack(over)) end", ""),
        "nobody sweeps shares": ("if ctx.fair then sweep_shares(ctx, wanted) end", ""),
        "how far claims have come is forgotten": ("'(' .. upto, 'BYSCORE'", "upto, 'BYSCORE'"),
    }),
    (shares.test_the_shares_of_an_empty_lane_are_kept_for_a_day, {
        "shares of empty lanes stay": ("redis.call('EXPIRE', shares .. lane, ctx.limits and 2592000 or 86400)", ""),
        "shares are kept for a minute": ("ctx.limits and 2592000 or 86400)", "60)"),
        "shares of tasks that are given back go": ("if ctx.fair then redis.call('PERSIST', shares .. lane) end", ""),
        "shares go while tasks wait for a limit": ("ctx.limits and 2592000 or 86400)", "86400)"),
        "shares of all lanes go": ("if redis.call('EXISTS', ready .. lane) == 0 then redis.call('EXPIRE'",
                                   "if true then redis.call('EXPIRE'"),
    }),
    (shares.test_fair_shares_begin_behind_those_in_line_and_end_so, {
        "fair shares begin before those in line": ("string.format('%.0f', place + 1)", "'1'"),
        "fair shares begin again": ("if changes.fair and not ctx.fair then", "if changes.fair then"),
        "fair shares never end": ("value = '0'", ""),
        "fair shares end before those in line": ("redis.call('HSET', config, 'place', string.format('%.0f', place))",
                                                 ""),
        "the highest place is the first": ("if own.place > ctx.fair_top then", "if ctx.fair_top == 0 then"),
        "the highest place is forgotten": ("redis.call('HSET', config, 'fair_top', string", "(tostring)(string"),
    }),
    (shares.test_a_queue_without_fair_shares_has_none, {
        "every queue has fair shares": ("if ctx.fair then note_claimed(", "if true then note_claimed("),
    }),
    (shares.test_who_waits_for_a_limit_keeps_the_place, {
        "who waits for a limit goes to the end": (
            "line_up(batch.by_lane, own[5] or 'any', score, id)\n      if own[6]",
            "line_up(batch.by_lane, own[1] or 'any', score + 9999, id)\n      if own[2]"),
    }),
]  # fmt: skip
