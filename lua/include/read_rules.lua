-- read_rules(conf): the settings that few calls need, added to conf.
-- NEEDS config
local function read_rules(conf)
  if conf.claim_ms then return end
  local row = redis.call('HMGET', config, 'poll_ms', 'claim_ms', 'waiter_ms', 'priority_step_ms', 'policy',
    'detect_visits', 'rate_burst')
  conf.poll_ms, conf.claim_ms = tonumber(row[1] or 2000), tonumber(row[2] or 5000)
  conf.waiter_ms, conf.step_ms = tonumber(row[3] or 15000), tonumber(row[4] or 5000)
  conf.policy, conf.visits = row[5] or 'requester', tonumber(row[6] or 512)
  conf.rate_burst = tonumber(row[7] or 10)
end
