-- read_rules(conf): the settings that few calls need, added to conf.
local function read_rules(conf)
  if conf.claim_ms then return end
  local row = redis.call('HMGET', config, 'poll_ms', 'claim_ms', 'waiter_ms', 'priority_step_ms', 'policy',
    'detect_visits', 'rate_burst', 'detection')
  conf.poll_ms, conf.claim_ms = tonumber(row[1] or DEFAULT_poll_ms), tonumber(row[2] or DEFAULT_claim_ms)
  conf.waiter_ms, conf.step_ms = tonumber(row[3] or DEFAULT_waiter_ms), tonumber(row[4] or DEFAULT_priority_step_ms)
  conf.policy, conf.visits = row[5] or DEFAULT_policy, tonumber(row[6] or DEFAULT_detect_visits)
  conf.detection = (row[8] or DEFAULT_detection) ~= '0'
  conf.rate_burst = tonumber(row[7] or DEFAULT_rate_burst)
end
