-- recheck_request(ctx, person, id): move a pending request that this person has, or has delegated by a policy, to whom it belongs now.
local function recheck_request(ctx, person, id)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = load_change(ctx, name)
  local one = own and find_slot(own, tonumber(slot))
  if one and one.status == 'pending' then
    local from, before, known = one.reviewer, one.chain, redis.call('HGET', requests .. id, 'via') or ''
    local via, left, left_via = known, before_person(before, known, person)
    if left_via then
      local led = string.match(string.sub(via, #left_via + 1), '^,([^,]*)')
      local fields = led ~= '' and read_delegation(person, led)
      local following = string.match(string.sub(before, #left + #person + 2), '^>([^>]+)')
      local same = fields and fields.to == (following or string.sub(from, 6)) and (fields.cascade == '1' or not following)
      if led == '' or same and fits_delegation(ctx, own, fields) then return save_change(ctx, own) end
      one.reviewer, one.chain, via = 'user:' .. person, left, left_via
    end
    via = follow_delegations(ctx, own, one, via)
    local reviewer, new_chain = one.reviewer, one.chain
    one.reviewer, one.chain = from, before
    if reviewer ~= from or new_chain ~= before then
      hand_on(ctx, own, one, reviewer, new_chain, via)
      record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' from=' .. from .. ' to=' .. reviewer .. ' chain='
        .. string.gsub(string.sub(new_chain, 2), '>', ','), '')
    elseif via ~= known then
      redis.call('HSET', requests .. id, 'via', via)
    end
  end
  if own then save_change(ctx, own) end
end
