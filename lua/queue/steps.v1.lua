-- queue.steps.v1: return the stored steps of a task, in the order in which they were stored, with the fence of the run
-- that stored each. The value of a sleep is its due time (ms).
--
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int steps:list(step)
-- EACH   step      step name:label number:int kind:text at_ms:int fence:int value:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 4 commands, 430,000 steps

local ctx, refused = open()
if refused then return refused end

local answers = {}
for i, step in ipairs(steps_in_order(id)) do
  local name, number = string.match(step.name, '^(.*)#(%d+)$')
  answers[i] = { 'step', name or step.name, tonumber(number or 1), step.kind, step.at_ms, step.fence, step.value }
end
return { 'ok', ctx.now, answers }
