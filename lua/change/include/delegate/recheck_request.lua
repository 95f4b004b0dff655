-- recheck_request(ctx, person, id): move a pending request that this person has, or has delegated by a policy, to whom it belongs now.
local function recheck_request(ctx, person, id)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = load_change(ctx, name)
  local one = own and find_slot(own, tonumber(slot))
  if one and one.status == 'pending' then
    local from, before, chain, via = one.reviewer, one.chain, one.chain, redis.call('HGET', requests .. id, 'via') or ''
    local left, left_via = before_person(chain, via, person)
    if left_via then
      local led = string.match(string.sub(via, #left_via + 1), '^,([^,]*)')
      local fields = led ~= '' and read_delegation(person, led)
      local to = string.match(string.sub(chain, #left + #person + 2), '^>([^>]+)') or string.sub(from, 6)
      if led == '' or fields and fields.to == to and fits_delegation(ctx, own, fields) then return save_change(ctx, own) end
      one.reviewer, one.chain, via = 'user:' .. person, left, left_via
    end
    via = follow_delegations(ctx, own, one, via)
    local reviewer, new_chain = one.reviewer, one.chain
    one.reviewer, one.chain = from, before
    if reviewer ~= from then
      hand_on(ctx, own, one, reviewer, new_chain, via)
      record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' from=' .. from .. ' to=' .. reviewer .. ' chain='
        .. string.gsub(string.sub(new_chain, 2), '>', ','), '')
    end
  end
  if own then save_change(ctx, own) end
end
