-- backoff(conf, id, n, jitter_ppm): ms before retry n; jitter_ppm 0..1000000 comes from the caller, 500000 is none.
-- NEEDS task
local function backoff(conf, id, n, jitter_ppm)
  local own = redis.call('HMGET', task .. id, 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms', 'jitter_pct')
  local base = tonumber(own[1] or conf.backoff_base_ms)
  local multiplier = tonumber(own[2] or conf.backoff_multiplier_pct) / 100
  local cap = tonumber(own[3] or conf.backoff_cap_ms)
  local jitter = tonumber(own[4] or conf.jitter_pct) / 100
  -- The power is bounded, for infinity times a base of 0 is not a number.
  local delay = math.min(base * math.min(multiplier ^ (n - 1), 1e12), cap)
  return math.floor(math.min(delay * (1 + jitter * (jitter_ppm / 500000 - 1)), cap))
end
