-- leave_away(own, one): a request is no longer pending with a delegate.
local function leave_away(own, one)
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZREM', away .. person, own.id .. '/' .. one.slot)
  end
end
