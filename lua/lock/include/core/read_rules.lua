-- read_rules(ctx): read the settings that few calls need, and add them to ctx.
local function read_rules(ctx)
  if ctx.claim_ms then return end
  local row = redis.call('HMGET', config, 'poll_ms', 'claim_ms', 'waiter_ms', 'priority_step_ms', 'policy',
    'detect_visits', 'rate_burst', 'detection')
  ctx.poll_ms, ctx.claim_ms = tonumber(row[1] or DEFAULT_poll_ms), tonumber(row[2] or DEFAULT_claim_ms)
  ctx.waiter_ms, ctx.step_ms = tonumber(row[3] or DEFAULT_waiter_ms), tonumber(row[4] or DEFAULT_priority_step_ms)
  ctx.policy, ctx.visits = row[5] or DEFAULT_policy, tonumber(row[6] or DEFAULT_detect_visits)
  ctx.detection = (row[8] or DEFAULT_detection) ~= '0'
  ctx.rate_burst = tonumber(row[7] or DEFAULT_rate_burst)
end
