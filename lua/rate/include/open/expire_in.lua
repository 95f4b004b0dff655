-- expire_in(key, ms): let a key expire by itself, unless the clock is that of a test.
local function expire_in(key, ms)
  if now_ms == 0 then redis.call('PEXPIRE', key, ms) end
end
