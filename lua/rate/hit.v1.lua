-- rate.hit.v1: count a hit of 1 to 8 rules, each for a subject, if all of them allow it: all or nothing. A refused hit counts nowhere. A
-- cost of 0 only looks: with cost 0 in all items, nothing is written. `remaining`: how much more the rule allows now. `retry_ms`: after
-- which time the rule allows this cost, if nothing else comes; of a whole call the longest of these. `reset_ms`: after which time the rule
-- allows as much as it ever does; of concurrency, when the lease of this hit ends unless it is renewed. `never`: the cost is more than the
-- burst, or than the limit of a log, so waiting does not help. A shadow rule that would refuse answers `shadowed`, does not count the hit
-- and does not stop it. `on_error`: whether a client refuses or allows if it cannot ask the server.
-- A hit of a rule of concurrency needs a rid, which names its lease, and a cost of 1. The answer to a hit with a rid is remembered for a
-- minute, unless it only looks. Without a rid, a hit that is sent again counts again, which never allows more than the rules.
-- `returned`: the lease was given back before this hit arrived, so nothing has counted it.
--
-- ARGV   rid       id                    ?=
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   cost      int 0..1000000        ?=1
-- GROUP  item      1..8
-- RETURN allowed   now_ms:int items:list(item)
-- RETURN refused   now_ms:int retry_ms:int items:list(item)
-- RETURN never     now_ms:int items:list(item)
-- RETURN returned  now_ms:int
-- EACH   item      allowed  remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      refused  remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      never    remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      shadowed remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   5 commands for one rule of gcra, 3 + 2n for n of them; 2 more with a rid; at most 240 commands, 46,000 steps
-- LATE   read_clock look_log stale_of count_log look_leases count_lease expire_in recall_hit remember_hit

local now, stored = open_rules(item_rule)
if not now then return stored end
if rid ~= '' then
  local before = recall_hit(math.floor(now / 1000))
  if before then return before end
end

local items, keys, marks, status, retry_us, counts = {}, {}, {}, 'allowed', 0, false
for i = 1, item_count do
  local key, cost = item_rule[i] .. '|' .. item_subject[i], item_cost[i]
  local algorithm, pace, burst, limit, period_ms, on_error, mode = read_rule(stored[i])
  if not algorithm then return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule that is stored in this namespace') end
  if algorithm == 'gcra' then key = arrivals .. key elseif algorithm == 'log' then key = hits .. key else key = leases .. key end
  for j = 1, i - 1 do
    if keys[j] == key then return refuse('item[' .. i .. '].subject', item_subject[i], 'another one than in item[' .. j .. ']') end
  end
  limit, period_ms = limit + 0, period_ms + 0
  local most, left, wait, reset, mark = limit, nil, nil, nil, nil
  if algorithm == 'gcra' then
    most, pace = burst + 0, pace + 0
    left, wait, reset, mark = look_gcra(key, now, cost, pace, most * pace)
  elseif algorithm == 'log' then
    left, wait, reset, mark = look_log(key, now, cost, period_ms * 1000, limit)
  else
    if cost > 1 then return refuse('item[' .. i .. '].cost', cost, '0 or 1: the rule is one of concurrency') end
    if cost == 1 and rid == '' then return refuse('rid', nil, 'given: it names the lease of a rule of concurrency') end
    left, wait, reset, mark = look_leases(key, now, cost, pace + 0, limit)
  end
  local word = 'allowed'
  if cost > most then
    word, wait = 'never', 0
  elseif wait > 0 then
    word = 'refused'
  else
    wait = 0
  end
  if word ~= 'allowed' then
    if mode == 'shadow' then
      word = 'shadowed'
    else
      if status ~= 'never' then status = word end
      if wait > retry_us then retry_us = wait end
    end
  end
  if cost > 0 then counts = true end
  keys[i], marks[i] = key, mark
  items[i] = { word, left, math.ceil(wait / 1000), math.ceil(reset / 1000), limit, period_ms, on_error }
end

if status == 'allowed' then
  for i = 1, item_count do
    local item, cost, mark = items[i], item_cost[i], marks[i]
    if cost > 0 and item[1] == 'allowed' then
      local reset
      if type(mark) == 'number' then
        store_arrival(keys[i], now, mark)
        reset = mark - now
      else
        reset = mark.fresh and count_log(keys[i], mark, cost) or count_lease(keys[i], mark)
      end
      item[2], item[4] = item[2] - cost, math.ceil(reset / 1000)
    end
  end
end
local at_ms, retry_ms = math.floor(now / 1000), math.ceil(retry_us / 1000)
if counts and rid ~= '' then remember_hit(at_ms, status, retry_ms, items) end
if status == 'refused' then return { status, at_ms, retry_ms, items } end
return { status, at_ms, items }
