-- read_policy(key): the retry settings and the data tier of a record, or of the queue's config; false for each value that is not set.
local function read_policy(key)
  return redis.call('HMGET', key, 'max_attempts', 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms',
    'jitter_pct', 'max_crashes', 'tier')
end
