-- queue.set_limits.v1: set how many tasks may run at a time, and how many may start per period: of a user, with a tag,
-- with a limit key, or of all. `user:*` applies to each user without a limit of their own, and so on. An item without
-- pairs removes the limit. `concurrency`: how many tasks run; `starts`: how many start in each `period_ms`, evenly,
-- after `burst` at once. `policy`: what happens to a task that may not start yet. It waits, `blocked`, at its place; or
-- it is dead; or it is cancelled; or, with cancel_oldest, the oldest running task is cancelled. Running tasks do not
-- count for a new limit. The next claim applies it, also to waiting tasks; if there are many limit queues, later claims
-- continue. `expect`: the digest of the rule that the caller has read, the first 16 hex digits of its SHA-1; `none` if
-- there was no rule. If one differs, the call is refused (`ADEQ_STALE`), and no limit is changed.
--
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key       limit
-- PAIR   concurrency int 1..1000000
-- PAIR   starts    int 1..1000000
-- PAIR   period_ms int 1..2678400000
-- PAIR   burst     int 1..1000000
-- PAIR   policy    enum queue|reject|cancel_newest|cancel_oldest ?=queue
-- PAIR   expect    bytes 4..16
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      set
-- EACH   item      removed
-- EACH   item      unchanged
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_STALE
-- EVENT  limit.set limit.removed
-- ROLE   operate
-- REPLAY rid
-- COST   9 + 3n commands, n more with `expect`, O(n); at most 4,500 commands, 170,000 steps

local ctx, refused = open()
if refused then return refused end
local rules = {}
for i = 1, item_count do
  local own, label = item_pairs[i], 'item[' .. i .. '].'
  if not own.starts ~= not own.period_ms then
    return refuse(label .. 'period_ms', own.period_ms, 'given with starts, and only so')
  elseif own.burst and not own.starts then
    return refuse(label .. 'burst', own.burst, 'given with starts only')
  elseif own.starts and own.starts > 100 * own.period_ms then
    return refuse(label .. 'starts', own.starts, 'at most 100 for each ms of the period')
  elseif own.policy == 'cancel_oldest' and not own.concurrency then
    return refuse(label .. 'policy', own.policy, 'another one, where concurrency is not limited')
  elseif own.policy and not own.concurrency and not own.starts then
    return refuse(label .. 'policy', own.policy, 'given with concurrency or starts')
  end
  local interval_ms = own.starts and string.format('%.6f', own.period_ms / own.starts) or '0'
  rules[i] = (own.concurrency or own.starts) and string.format('%d %s %s %d', own.concurrency or 0, own.policy or 'queue',
    interval_ms, own.burst or own.starts or 1)
end

local answers = replayed_answers(ctx, 'set_limits', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
for i, key in ipairs(item_key) do
  local expect = item_pairs[i].expect
  refused = expect and refuse_stale('item[' .. i .. '].expect', expect, digest_of(redis.call('HGET', limits, key)))
  if refused then return refused end
end
if not ctx.exists then create_base() end
local changed_ms, kinds, looks = 1, false, {}
for i, key in ipairs(item_key) do
  local old = redis.call('HGET', limits, key) or nil
  if old == rules[i] then
    answers[i] = { 'unchanged' }
  elseif rules[i] then
    answers[i] = { 'set' }
    redis.call('HSET', limits, key, rules[i])
    emit(ctx, 'limit.set', key, (string.gsub(rules[i], '^(%S+) (%S+) (%S+) (%S+)$',
      'concurrency=%1 policy=%2 interval_ms=%3 burst=%4')))
  else
    answers[i] = { 'removed' }
    redis.call('HDEL', limits, key)
    emit(ctx, 'limit.removed', key, '')
  end
  if answers[i][1] ~= 'unchanged' then
    if string.find(key, '*', 1, true) then
      kinds = true
    else
      looks[#looks + 1] = ctx.now - BAND
      looks[#looks + 1] = key
    end
  end
end
if looks[1] then redis.call('ZADD', limit_lines, 'XX', 'LT', unpack(looks)) end  -- at most 2,000: two for each item
if kinds then changed_ms = math.max(ctx.now, ctx.settings.limits + 1) end  -- lines of limits that were full by then are looked at
if kinds or ctx.settings.limits == 0 then redis.call('HSET', config, 'limits', string.format('%.0f', changed_ms)) end
note_answers(ctx, 'set_limits', answers)
return { 'ok', ctx.now, answers }
