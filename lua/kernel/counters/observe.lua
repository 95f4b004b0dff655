-- observe(ctx, name, value): count a value in its histogram bucket, counter '<name>:<bound>', where bound is the smallest
-- power of two that is not below the value (at most 2^31). The values are also added up, for the counter '<name>_sum'.
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
  -- A clock may be set back, and a sum must not fall. Above 10^15 it might not stay an integer.
  if value > 0 then buckets.sum = math.min((buckets.sum or 0) + value, 1e15) end
end
