-- keep_until_end(ctx, hash, active_ms, idle_ms, ends_ms): let the server delete a session when it has ended a while ago. The stored times
-- decide whether it is valid.
local function keep_until_end(ctx, hash, active_ms, idle_ms, ends_ms)
  redis.call('PEXPIRE', sessions .. hash, math.min(active_ms + idle_ms, ends_ms) - ctx.now + WAIT_backstop_ms)
end
