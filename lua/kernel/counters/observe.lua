-- observe(ctx, name, value): add 1 to the histogram bucket of a value: counter '<name>:<bound>', where bound is the
-- smallest power of two that is not below the value (at most 2^31).
-- EARLY
local function observe(ctx, name, value)
  local bound = 1
  while bound < value and bound < 2147483648 do bound = bound * 2 end  -- at most 31: doublings
  local buckets = ctx.counts[name]
  if not buckets then
    buckets = {}
    ctx.counts[name] = buckets
  end
  buckets[bound] = (buckets[bound] or 0) + 1
end
