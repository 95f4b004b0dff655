-- queue.log.v1: return the last lines, at most 100, that the runs of a task have logged, oldest first.
--
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int lines:list(line)
-- EACH   line      line at_ms:int text:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 3 commands, 370 steps

local ctx, refused = open()
if refused then return refused end

local lines = {}
for i, entry in ipairs(redis.call('LRANGE', log .. id, -100, -1)) do  -- at most 100: lines that are kept
  local at_ms, text = string.match(entry, '^(%d+) (.*)$')
  lines[i] = { 'line', tonumber(at_ms), text }
end
return { 'ok', ctx.now, lines }
