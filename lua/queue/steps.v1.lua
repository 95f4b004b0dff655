-- queue.steps.v1: return the stored steps of a task, in the order in which they were stored, with the fence of the run
-- that stored each. The value of a sleep is its due time (ms).
--
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int steps:list(step)
-- EACH   step      step name:label number:int kind:text at_ms:int fence:int value:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 4 commands, 460,000 steps

local ctx, refused = open()
if refused then return refused end

local answers, names, parts = {}, steps_in_order(id)
for i, full in ipairs(names) do
  local name, number = string.match(full, '^(.*)#(%d+)$')
  local one = parts[i]
  answers[i] = { 'step', name or full, tonumber(number or 1), one.kind, one.at_ms, one.fence, one.value }
end
return { 'ok', ctx.now, answers }
