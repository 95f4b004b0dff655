-- reindex(own, prefix, before, after): a change has these values now, separated by commas, in place of those.
local function reindex(own, prefix, before, after)
  local old = {}
  for value in string.gmatch(before, '[^,]+') do old[value] = true end
  for value in string.gmatch(after, '[^,]+') do  -- at most 32: resources
    if not old[value] then redis.call('ZADD', prefix .. value, own.created_ms, own.id) end
    old[value] = nil
  end
  for value in string.gmatch(before, '[^,]+') do  -- at most 32: resources
    if old[value] then redis.call('ZREM', prefix .. value, own.id) end
  end
end
