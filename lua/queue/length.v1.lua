-- queue.length.v1: return how many tasks are ready in some lanes.
--
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   lane      lane
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      in_line count:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + n commands; at most 1,200 commands, 13,000 steps

local ctx, refused = open()
if refused then return refused end

local answers = {}
for i, lane in ipairs(item_lane) do answers[i] = { 'in_line', redis.call('ZCARD', ready .. lane) } end
return { 'ok', ctx.now, answers }
