-- leave_people(own, one): the opposite of join_people.
local function leave_people(own, one)
  redis.call('ZREM', by_reviewer .. one.reviewer, own.id)
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZREM', by_reviewer .. 'user:' .. person, own.id)
  end
  leave_away(own, one)
end
