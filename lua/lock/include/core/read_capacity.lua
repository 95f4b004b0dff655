-- read_capacity(ctx, resource): the permits of a resource and whether they may be granted; nil if it has no capacity.
local function read_capacity(ctx, resource)
  local max, status, silent_ms, seen_ms, used =
    string.match(redis.call('HGET', capacity, resource) or '', '^(%d+) (%l+) (%d+) (%d+) (%-?%d+)$')
  if not max then return nil end
  local silent = tonumber(silent_ms) > 0 and ctx.now - tonumber(seen_ms) > tonumber(silent_ms)
  return { max = tonumber(max), status = status, silent_ms = silent_ms, seen_ms = seen_ms, used = tonumber(used),
    open = status == 'active' and not silent, silent = silent }
end
