"""Lines of the lock scripts that matter, each with what a mistake would make of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.property.locks import test_corners as corners
from tests.property.locks.driver import Driver

Scenario = Callable[[Driver], None]
Mutant = tuple[str, str]  # the text, and what takes its place

HELD = "return line.holds >"
LOSERS = "pairs(ctx.waiting > 0 and ctx.losers or {})"

BY_HISTORIES: dict[str, Mutant] = {
    # who may have what
    "a lock has two holders": (HELD, HELD.replace("return", "return false and")),
    "own shared holds stand in the way": ("'[' .. own .. ' s',", "'[' .. own .. ' y',"),
    "own permits do not stand in the way": ("'[' .. own .. ' s',", "'[' .. own .. ' ',"),
    "a shared lock is given beside another's exclusive one": ("return line.by ~= owner end", "return false end"),
    "shared locks beside permits": ("return line.code and line.code ~= 's'", "return false"),
    "one permit too many": ("> room.max\n  end", "> room.max + 1\n  end"),
    "permits of a silent resource": ("open = status == 'active' and not silent", "open = status == 'active'"),
    "permits of a draining resource": ("if room.status == 'draining' then return 'draining' end", ""),
    "permits are not given back": ("use_permits(ctx, part, -1)", "use_permits(ctx, part, 0)"),
    "more than there is may be asked for": ("> room.max then return 'too_many' end", "> 2 ^ 40 then return '' end"),
    # turns
    "newcomers pass the line": ("if is_behind(ctx, part, order) then", "if false then"),
    "shared waiters pass exclusive ones": ("return line.alone and line.alone < order or ", "return "),
    "priority is no head start": ("request.priority * ctx.step_ms", "0"),
    "upgrades stand at the end": ("local upgrade = ", "local upgrade = false and "),
    "only the head is handed over": ("'LIMIT', skipped, most)", "'LIMIT', skipped, 1)"),
    "those who jump stay where they were": ("request.order = place_before(", "request.unchecked = place_before("),
    "the last place is not tried": ("local moved = search ~= nil or request.order == tail", "local moved = true"),
    # what comes again, late or first
    "what is ended may come again": (
        "if outcome then return 'ended', outcome end",
        "if outcome then return 'busy' end",
    ),
    "a cancel is not remembered": ("    remember(ctx, rid, 'cancelled')\n", ""),
    "late requests are taken": ("math.abs(ctx.now - issued_ms) <= 60000", "true"),
    "requests of the future are taken": ("math.abs(ctx.now - issued_ms)", "(ctx.now - issued_ms)"),
    "requests are too late soon": ("issued_ms) > 60000", "issued_ms) >= 60000"),
    "ended requests are forgotten soon": ("ctx.now + 120000 - 1e15, rid)", "ctx.now + 30000 - 1e15, rid)"),
    "ended requests are never forgotten": ("    redis.call('HDEL', requests, unpack(rids))\n", ""),
    "a busy lock is not remembered": ("      remember(ctx, rid, 'busy')\n", ""),
    "a force is done again": ("if stored then\n", "if stored and false then\n"),
    # fences
    "fences stay": ("ctx.fence = math.max(ctx.fence + 1, ctx.now * 1000)", "ctx.fence = ctx.now * 1000"),
    "a re-entry has a new fence": (
        "part.fence, part.depends_on = string.format('%.0f', fence), '+'",
        "part.depends_on = ''",
    ),
    "a re-entry has the lowest fence": (
        "fence = math.max(fence, fences[rid][part.resource])",
        "fence = fences[rid][part.resource]",
    ),
    # time
    "deadlines are a millisecond late": (
        "'ZRANGE', deadlines, 0, ctx.now, 'BYSCORE'",
        "'ZRANGE', deadlines, 0, ctx.now - 1, 'BYSCORE'",
    ),
    "the clock goes back": ("math.max(before, last - now)", "before"),
    "configure answers another clock": (
        "now = math.max(now + (row[2] or 0), row[1] or 0) -- the domain's",
        "-- the domain's",
    ),
    "a claim is for the whole lease": ("ctx.now + ctx.claim_ms)", "ctx.now + request.ttl_ms)"),
    "a claim prolongs nothing": (
        "request.state, request.deadline_ms = 'held', ctx.now +",
        "request.deadline_ms = ctx.now +",
    ),
    "a poll is no sign of life": (
        "    set_deadline(ctx, rid, math.min(tonumber(request.until_ms), ctx.now + ctx.waiter_ms))\n",
        "",
    ),
    "a wait has no end": ("ctx.now >= tonumber(request.until_ms) and 'timed_out'", "false and 'timed_out'"),
    "who is silent stays": ("math.min(request.until_ms, ctx.now + ctx.waiter_ms)", "request.until_ms + 0"),
    # what goes with what
    "an upgrade outlives its base": (LOSERS, "pairs({})"),
    "a downgrade lets nobody in": ("  note_freed(ctx, request) -- as it was", "  -- as it was"),
    "a heartbeat lets nobody in": ("if room.silent then note_line(", "if false then note_line("),
    "an owner waits twice": ("if other and (not is_idle(request) or", "if other and (false or"),
    "the rate is counted twice": ("redis.call('ZADD', rates, due + gap,", "redis.call('ZADD', rates, due + 2 * gap,"),
    "re-entries count": ("not covered and refuse_rate(", "refuse_rate("),
    # deadlocks
    "no deadlock is seen": ("waits and ctx.detection and find_place(ctx, request, tail)", "nil"),
    "those ahead are not looked at": ("elseif blocks and order < request.order and", "elseif false and"),
    "dependents of dependents are not looked for": ("search.todo[search.count] = node", ""),
    "a deadlock of permits is certain": ("      if search.permits then", "      if false then"),
    "who needs no more than is free is stuck": (
        "line.taken + wait.permits <= line.max",
        "line.taken + wait.permits < line.max",
    ),
    "own permits come back by themselves": (
        "if search.at == 1 then blocks = permits end",
        "if search.at == 1 then blocks = false end",
    ),
    "the eldest gives way": ("its_born > born)", "its_born < born)"),
    "the most urgent gives way": ("if its_rank > rank or", "if its_rank < rank or"),
    "all that is told is the beginning": ("node = search.found[node.waits_for]", "node = nil"),
    "edges leave shared holders out": ("code == 's' and {} or run\n", "{}\n"),
    "fewer permits make a deadlock that nobody looks for": (
        "if fewer and ctx.waiting > 0 then recheck_line(",
        "if false then recheck_line(",
    ),
    "permits of what drained are given out again without a look": (
        "room.status ~= 'active' or max < room.max",
        "max < (room.max or 0)",
    ),
    "for whom another gave way is not looked at again": ("if found or begun and", "if found and not sure or begun and"),
    "the detector looks without end": (
        "  redis.call('ZREM', unchecked, rid)\n  if found or begun",
        "  if found or begun",
    ),
}

BY_CORNERS: dict[str, tuple[Scenario, Mutant]] = {
    "nobody behind a many is handed over": (
        corners.test_those_behind_a_many_follow_it_in_its_other_lines,
        ("if part.code ~= 'x' and (i > 1 or request.parts[2]) then", "if false then"),
    ),
    "with permits only the first place is tried": (
        corners.test_with_permits_the_only_place_may_lie_between_two_others,
        ("        ahead = left_over(", "        left_over("),
    ),
    "one call hands over to all": (
        corners.test_64_are_granted_by_one_call_and_the_rest_is_remembered,
        ("ctx.grants or 64,", "ctx.grants or 6400,"),
    ),
    "the rest of a line is forgotten": (
        corners.test_a_long_run_goes_on_though_one_of_it_has_to_wait_elsewhere,
        ("if i == most and (skipped == 0 or left < had) then", "if false then"),
    ),
    "the other lines are forgotten": (
        corners.test_64_are_granted_by_one_call_and_the_rest_is_remembered,
        ("    if from then set_deadline(", "    if from and left > 0 then set_deadline("),
    ),
    "a renewal comes late": (
        partial(corners.test_nobody_has_more_time_because_others_are_due_as_well, verb="renew", answer=("lost", {})),
        ("if ctx.caught_up or #rids == 0 then return end", "if true then return end"),
    ),
    "a downgrade comes late": (
        corners.test_a_downgrade_of_what_is_over_is_lost,
        ("if ctx.caught_up or #rids == 0 then return end", "if true then return end"),
    ),
    "who asks is told of holders that are over": (
        corners.test_what_is_overdue_is_granted_to_who_asks,
        ("ipairs(ctx.caught_up and {} or parts)", "ipairs({})"),
    ),
    "who polls is told of holders that are over": (
        corners.test_who_polls_is_handed_what_is_overdue,
        ("ipairs(ctx.caught_up and {} or parts)", "ipairs({})"),
    ),
    "a lock that is over is told again": (
        corners.test_an_acquire_that_comes_again_does_not_hear_of_a_lock_that_is_over,
        ("if ctx.caught_up or #rids == 0 then return end", "if true then return end"),
    ),
    "circles are cut": (
        corners.test_a_ring_is_told_in_full,
        ("#words < 256", "#words < 16"),
    ),
    "a search costs nothing": (
        corners.test_a_ring_above_the_budget_is_left_to_the_detector,
        ("ctx.visits = ctx.visits - 1 - #members", ""),
    ),
    "the detector has no more patience": (
        corners.test_a_ring_above_the_budget_is_left_to_the_detector,
        ("ctx.visits = visits\n", ""),
    ),
    "a search that is too long for a call begins anew": (
        corners.test_a_long_ring_is_found_by_many_short_calls,
        ("save_search(rid, request, state, place)", "link_request(ctx, rid, request)"),
    ),
    "what several calls have found is not looked at again": (
        corners.test_a_ring_that_opens_meanwhile_is_no_deadlock,
        ("local sure = not (found and found.saved) or still_waits(ctx, request, found)", "local sure = true"),
    ),
    "a page of edges ends with its resource": (
        corners.test_edges_go_on_inside_a_resource,
        ("if page.left <= 0 or page.work <= 0 then return place, i end", "if page.left <= 0 then return end"),
    ),
    "the 64th who shares is not looked at": (
        corners.test_who_becomes_the_64th_that_shares_has_its_turn,
        ("then most, skipped = freed.gone, 64 - freed.gone end", "then return left end"),
    ),
    "who comes behind the 64th that shares is not looked at": (
        corners.test_who_comes_behind_the_64th_that_shares_has_its_turn,
        ("(skipped == 0 or left < had)", "(skipped == 0)"),
    ),
    "one has its turn where two have left": (
        corners.test_as_many_that_share_have_their_turn_as_have_left,
        ("then most, skipped = freed.gone, 64 - freed.gone end", "then most, skipped = 1, 63 end"),
    ),
}
