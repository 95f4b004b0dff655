-- queue.runs.v1: return the runs of a task, oldest first: at most the last 20 that ended without completing it, and then
-- the run that completed it or that goes on. `delivery` numbers the runs of a task from 1, so a larger first number says
-- how many are no longer known. `ended_ms` is 0 while the run goes on. The error is the last 1 KiB of the error; a sealed
-- error above 1 KiB is empty.
--
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int runs:list(run)
-- EACH   run       run outcome:text delivery:int attempt:int fence:int worker:id started_ms:int ended_ms:int reason:text error:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands; at most 5 commands, 200 steps

local ctx, refused = open()
if refused then return refused end

local found = {}
local function add(ran, ended_ms, outcome, reason, error)
  local started_ms, attempt, delivery, _, fence, worker = string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  found[#found + 1] = { 'run', outcome, tonumber(delivery), tonumber(attempt), tonumber(fence), worker,
    tonumber(started_ms), tonumber(ended_ms), reason, error }
end
for _, entry in ipairs(redis.call('LRANGE', ended_runs .. id, -20, -1)) do  -- at most 20: runs that are kept
  add(string.match(entry, '^(%d+ %d+ %d+ %d+ %d+ %S+) (%d+) (%l+) (%S*) (.*)$'))
end
local lease = read_lease(redis.call('HGET', running, id))
local row = redis.call('HMGET', task .. id, 'ran', 'settled')
local how = string.match(row[2] or '', '^%S+ (%S+)')
if lease then
  add(lease.ran, 0, 'running', '', '')
elseif row[1] and (how == 'completed' or how == 'result_dropped') then
  add(row[1], redis.call('ZSCORE', finished, id) or 0, 'completed', '', '')
end
return { 'ok', ctx.now, found }
