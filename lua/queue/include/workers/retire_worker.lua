-- retire_worker(name): remove the current incarnation of a worker name. The last eight incarnations are remembered for
-- 2 minutes, so that a late repeated `register` of one of them is not accepted as new.
local function retire_worker(name)
  local row = redis.call('HMGET', worker_hash .. name, 'incarnation', 'replaced')
  local replaced = string.match((row[1] or '') .. ' ' .. (row[2] or ''), '^ ?(' .. string.rep('%S* ?', 8) .. ')')
  redis.call('DEL', worker_hash .. name)
  redis.call('HSET', worker_hash .. name, 'replaced', replaced)
  redis.call('PEXPIRE', worker_hash .. name, 120000)
end
