-- rate.set_rules.v1: store rules, or remove them; the calls after it go by them. A namespace has at most 1,000 rules.
-- `gcra` spreads hits evenly over the period: `burst` of them may come at once (as many as `limit`, unless given), and a period has at most
-- burst + limit. `log` counts each hit: no period has more than `limit`, at most 5,000. `concurrency`: at most `limit` leases at a time; one
-- lasts `lease_ms` unless it is renewed or given back. A `shadow` rule only reports what it would refuse. `on_error`: whether clients refuse
-- (closed) or allow (open) while they cannot ask the server. What was counted goes on counting if only numbers change; with another
-- algorithm it begins anew. A longer period counts the hits from the change on.
--
-- ARGV   rid          id
-- ARGV   source       bytes 0..200     ?=
-- ARGV   trace        bytes 0..128     ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   name         id
-- PAIR   remove       bool             ?=0
-- PAIR   algorithm    enum gcra|log|concurrency ?=gcra
-- PAIR   limit        int 1..1000000
-- PAIR   period_ms    int 1..2678400000
-- PAIR   burst        int 1..1000000
-- PAIR   lease_ms     int 1000..3600000
-- PAIR   shadow       bool             ?=0
-- PAIR   on_error     enum closed|open ?=closed
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         stored version:int
-- EACH   item         same version:int
-- EACH   item         removed
-- EACH   item         unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  rule.stored rule.removed
-- ROLE   operate
-- REPLAY rid
-- COST   9 commands and 4 for each rule; at most 450 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
local texts, names, added = {}, redis.call('HMGET', rules, unpack(item_name)), 0  -- at most 100: item
for i = 1, item_count do
  texts[i], refused = rule_text(item_pairs[i], 'item[' .. i .. '].')
  if refused then return refused end
  if texts[i] and not names[i] then added = added + 1 end
end
local before = recall_items(ctx.now, 'set_rules')
if before then return { 'ok', ctx.now, before } end
if added > 0 and redis.call('HLEN', rules) + added > 1000 then
  return refuse('item', item_count, 'so few that the namespace has at most 1000 rules')
end
if not ctx.exists then create_base() end
local items = {}
for i, name in ipairs(item_name) do
  local old, version = string.match(redis.call('HGET', rules, name) or '', '^(.*) (%d+)$')
  if not texts[i] then
    items[i] = { old and 'removed' or 'unknown' }
    if old then
      redis.call('HDEL', rules, name)
      emit(ctx, 'rule.removed', name, '')
    end
  elseif old == texts[i] then
    items[i] = { 'same', tonumber(version) }
  else
    version = string.format('%.0f', redis.call('HINCRBY', config, 'rules_version', 1))
    redis.call('HSET', rules, name, texts[i] .. ' ' .. version)
    emit(ctx, 'rule.stored', name, 'version=' .. version)
    items[i] = { 'stored', tonumber(version) }
  end
end
remember_items(ctx.now, 'set_rules', items)
return { 'ok', ctx.now, items }
