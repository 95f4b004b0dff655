-- drop_request(own, one): delete a request, and the change from the indexes of its reviewers.
local function drop_request(own, one)
  redis.call('DEL', requests .. own.id .. '/' .. one.slot)
  for _, name in ipairs(people_of(one)) do redis.call('ZREM', by_reviewer .. name, own.id) end  -- at most 5: delegation_depth
end
