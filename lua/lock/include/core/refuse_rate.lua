-- refuse_rate(ctx, agent): the ms after which an agent that asks too often may ask again; nil, and one more counted,
-- if it may now. GCRA: the score is the time (µs) at which all it asked for would have come at the allowed rate.
local function refuse_rate(ctx, agent)
  if ctx.settings.rate_per_minute == 0 then return nil end
  local now, gap = ctx.now * 1000, math.floor(60000000 / ctx.settings.rate_per_minute)
  local due = math.max(tonumber(redis.call('ZSCORE', rates, 'rate ' .. agent) or 0), now)
  local early = due - now - gap * (ctx.rate_burst - 1)
  if early > 0 then return math.ceil(early / 1000) end
  redis.call('ZADD', rates, due + gap, 'rate ' .. agent)
  ctx.due = math.min(ctx.due, ctx.now + 60000)
end
