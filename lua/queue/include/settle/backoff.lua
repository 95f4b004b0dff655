-- backoff(own, all, n, jitter_ppm): ms before retry n, by the policy of the task, of the queue, or the defaults;
-- jitter_ppm 0..1000000 comes from the caller, 500000 is none.
local function backoff(own, all, n, jitter_ppm)
  local base = tonumber(own[2] or all[2] or DEFAULT_backoff_base_ms)
  local multiplier = tonumber(own[3] or all[3] or DEFAULT_backoff_multiplier_pct) / 100
  local cap = tonumber(own[4] or all[4] or DEFAULT_backoff_cap_ms)
  local jitter = tonumber(own[5] or all[5] or DEFAULT_jitter_pct) / 100
  -- The power is bounded, because infinity × 0 is not a number.
  local delay = math.min(base * math.min(multiplier ^ (n - 1), 1e12), cap)
  return math.floor(math.min(delay * (1 + jitter * (jitter_ppm / 500000 - 1)), cap))
end
