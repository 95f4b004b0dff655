-- queue.limits.v1: return the limits that are set; for named keys, how many tasks hold each, how many wait in its
-- queue, and when its rate lets the next one start. `cursor` is the cursor of the last page, '' at first; an empty
-- cursor in the answer means that this was the last page.
--
-- ARGV   cursor    bytes 0..19   ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key       limit
-- GROUP  item      0..200
-- RETURN ok        now_ms:int cursor:text rules:pairs(rules) items:list(item)
-- EACH   item      limited by:limit rule:text holding:int waiting:int next_ms:int
-- EACH   item      unlimited holding:int waiting:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + 4n commands, O(n); at most 890 commands, 4,700 steps

local ctx, refused = open()
if refused then return refused end
if not string.find(cursor, '^%d*$') then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local page, answers = { '0', {} }, {}
if item_count == 0 then page = redis.call('HSCAN', limits, cursor == '' and '0' or cursor, 'COUNT', 200) end
for i, key in ipairs(item_key) do
  local kind = string.gsub(key, ':.*', ':*')
  local rule = redis.call('HMGET', limits, key, kind)
  local held, lined = redis.call('ZCARD', holding .. key), redis.call('ZCARD', waiting .. key)
  local by = rule[1] and key or kind
  rule = rule[1] or rule[2]
  if rule then
    local interval_ms, burst = string.match(rule, '^%d+ %S+ (%S+) (%d+)$')
    local next_ms = tonumber(redis.call('ZSCORE', rates, key) or 0) - (burst - 1) * interval_ms
    answers[i] = { 'limited', by, rule, held, lined, math.ceil(math.max(ctx.now, math.min(next_ms, ctx.now + interval_ms))) }
  else
    answers[i] = { 'unlimited', held, lined }
  end
end
return { 'ok', ctx.now, page[1] ~= '0' and page[1] or '', page[2], answers }
