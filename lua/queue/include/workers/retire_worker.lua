-- retire_worker(name, killed): remove the current incarnation of a worker name. The last eight incarnations are remembered
-- for 2 minutes, so that a late repeated `register` of one of them is not accepted as new. If it was killed, as far as is
-- known, its successor gets a request that it has not heard. A restart is then `run`: the successor has started anew.
local function retire_worker(name, killed)
  local row = redis.call('HMGET', worker_hash .. name, 'incarnation', 'replaced', 'heard', 'mode', 'wanted')
  local kept = { 'replaced', string.match((row[1] or '') .. ' ' .. (row[2] or ''), '^ ?(' .. string.rep('%S* ?', 8) .. ')') }
  if killed and row[3] == '0' then
    kept[3], kept[4], kept[5], kept[6] = 'heard', '0', 'mode', row[4] == 'restart' and 'run' or row[4] or 'run'
    if row[5] then kept[7], kept[8] = 'wanted', row[5] end
  end
  redis.call('DEL', worker_hash .. name)
  redis.call('HSET', worker_hash .. name, unpack(kept))  -- at most 8: four fields
  redis.call('PEXPIRE', worker_hash .. name, 120000)
end
