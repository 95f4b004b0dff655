-- replace_requests(ctx, own, list): these are the requests of the change from now on; those of an earlier submit are gone.
local function replace_requests(ctx, own, list)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    redis.call('DEL', requests .. own.id .. '/' .. one.slot)
    redis.call('ZREM', by_reviewer .. one.reviewer, own.id)
  end
  own.list, own.list_changed = list, true
  for _, one in ipairs(list) do  -- at most 32: slots
    open_request(ctx, own, one)
    redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'reviewer_name', one.name, 'priority', priority)
    redis.call('ZADD', by_reviewer .. one.reviewer, own.created_ms, own.id)
  end
end
