-- givers_of(own, one): who has delegated a request; of agents, also the persons who answer for them: `via` has those
-- of stored delegations, and the record those of delegations by hand.
local function givers_of(own, one)
  local list = {}
  for person in string.gmatch(one.chain, '[^>]+') do list[#list + 1] = person end  -- at most 4: delegation_depth
  for person in string.gmatch(one.via, '>[^>:]*:([^>]+)') do list[#list + 1] = person end  -- at most 4: likewise
  if one.chain ~= '' and string.find(one.via .. '>', '>>', 1, true) then
    one.principals = one.principals or redis.call('HGET', requests .. own.id .. '/' .. one.slot, 'delegated_for') or ''
    for person in string.gmatch(one.principals, '[^,]+') do list[#list + 1] = person end  -- at most 4: likewise
  end
  return list
end
