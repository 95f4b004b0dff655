-- rate.adjust.v1: take hits back (`refund`), or forget all that was counted for a subject (`reset`). A refund of a log takes its oldest hits,
-- so that what is left counts at least as long as it has to. Leases of concurrency are given back by release; a reset ends all of them.
--
-- ARGV   rid       id
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   action    enum refund|reset     ?=refund
-- ITEM   cost      int 1..1000000        ?=1
-- GROUP  item      1..8
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      adjusted remaining:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   8 + 3n commands; at most 230 commands, 1,300 steps

local ctx, refused = open()
if refused then return refused end
local before = recall_items(ctx.now, 'adjust')
if before then return { 'ok', ctx.now, before } end
local stored, items = redis.call('HMGET', rules, unpack(item_rule)), {}  -- at most 8: item
for i = 1, item_count do
  local algorithm = read_rule(stored[i])
  if not algorithm then return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule that is stored in this namespace') end
  if item_action[i] == 'refund' and algorithm == 'concurrency' then
    return refuse('item[' .. i .. '].action', 'refund', 'reset: leases of concurrency are given back by release')
  end
end
for i = 1, item_count do
  local id, algorithm, pace, burst, limit, period_ms = item_rule[i] .. '|' .. item_subject[i], read_rule(stored[i])
  local left = algorithm == 'gcra' and burst + 0 or limit + 0
  if item_action[i] == 'reset' then
    redis.call('DEL', arrivals .. id, hits .. id, leases .. id)
  elseif algorithm == 'gcra' then
    left = refund_gcra(arrivals .. id, ctx.now * 1000, item_cost[i], pace + 0, burst + 0)
  else
    left = refund_log(hits .. id, ctx.now * 1000, item_cost[i], period_ms * 1000, limit + 0)
  end
  items[i] = { 'adjusted', left }
end
remember_items(ctx.now, 'adjust', items)
return { 'ok', ctx.now, items }
