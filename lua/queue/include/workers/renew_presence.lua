-- renew_presence(ctx): note a sign of life of a known worker. Returns what is wanted of it, and the wanted number of
-- tasks at a time (0: not set).
local function renew_presence(ctx)
  local own = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'mode', 'wanted', 'heard')
  if not own[1] then return 'run', 0 end
  redis.call('ZADD', workers, 'XX', ctx.now_text, worker)
  if own[4] == '0' then redis.call('HSET', worker_hash .. worker, 'heard', '1') end
  if busy >= 0 then redis.call('HSET', worker_hash .. worker, 'busy', busy) end
  return own[2] or 'run', tonumber(own[3] or 0)
end
