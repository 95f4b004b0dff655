-- follow_delegations(ctx, own, one, via): lead a request on from its reviewer, as the delegations of the persons say: `one` has the reviewer
-- and the chain then. A step to somebody who may not answer ends the walk before it, and a delegation without `cascade` behind it. via: the
-- delegations that led here; returns them with those of this walk.
local function follow_delegations(ctx, own, one, via)
  if not cascades(one, via) then return via end
  local steps = select(2, string.gsub(one.chain, '>', ''))
  for _ = steps + 1, number_of(own, 'p_delegation_depth') do  -- at most 4: delegation_depth
    local person = string.match(one.reviewer, '^user:(.+)$')
    local name, fields = nil, nil
    if person then name, fields = find_delegation(ctx, own, person) end
    if not name or not can_be_asked(own, 'user:' .. fields.to) then return via end
    one.reviewer, one.chain, own.list_changed = 'user:' .. fields.to, one.chain .. '>' .. person, true
    via = via .. ',' .. name
    if fields.cascade == '0' then return via end
  end
  return via
end
