-- retire_worker(name): end the incarnation that holds a name. The last eight stay known beyond the replay window, so
-- that a late re-send of their registration is not taken for a new one.
local function retire_worker(name)
  local row = redis.call('HMGET', worker_hash .. name, 'incarnation', 'replaced')
  local replaced = string.match((row[1] or '') .. ' ' .. (row[2] or ''), '^ ?(' .. string.rep('%S* ?', 8) .. ')')
  redis.call('DEL', worker_hash .. name)
  redis.call('HSET', worker_hash .. name, 'replaced', replaced)
  redis.call('PEXPIRE', worker_hash .. name, 120000)
end
