-- read_policy(key): how often and when to try again, as a record or the queue's config has it; what is not set is false.
local function read_policy(key)
  return redis.call('HMGET', key, 'max_attempts', 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms',
    'jitter_pct', 'max_crashes')
end
