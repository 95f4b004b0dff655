-- observe(ctx, name, value): count a value in the bucket of the next power of two: counter '<name>:<upper bound>'.
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
