-- refuse_rate(ctx, agent): check the rate limit of an agent. Returns nil and counts the request if it is allowed, or
-- the ms to wait. GCRA: the score is the time (µs) at which the agent's requests so far would have arrived at exactly
-- the allowed rate.
local function refuse_rate(ctx, agent)
  if ctx.settings.rate_per_minute == 0 then return nil end
  local gap = math.floor(60000000 / ctx.settings.rate_per_minute)
  local due, early = gcra(tonumber(redis.call('ZSCORE', rates, 'rate ' .. agent) or 0), ctx.now * 1000, gap * (ctx.rate_burst - 1))
  if early > 0 then return math.ceil(early / 1000) end
  redis.call('ZADD', rates, due + gap, 'rate ' .. agent)
  ctx.due = math.min(ctx.due, ctx.now + 60000)
end
