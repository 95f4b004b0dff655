-- join_people(own, one): list a pending request with those who have it, or have delegated it.
local function join_people(own, one)
  redis.call('ZADD', by_reviewer .. one.reviewer, own.created_ms, own.id)
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZADD', by_reviewer .. 'user:' .. person, own.created_ms, own.id)
    redis.call('ZADD', away .. person, inbox_score(own), own.id .. '/' .. one.slot)
  end
end
