-- note_wait(id, wait, delivery): write into the record for what a suspended task waits: `<delivery> <name>`. It holds as long
-- as no later run has ended, which would have changed `deliveries`.
local function note_wait(id, wait, delivery)
  local reason = wait.reason == 'diverged' and wait.reason
  redis.call('HSET', task .. id, 'waits_for', delivery .. ' ' .. wait.name, reason and 'reason' or 'waits_for', reason or delivery .. ' ' .. wait.name)
end
