-- follow_delegations(ctx, own, one): lead a request on from its reviewer, as the delegations of the persons say: `one` has the reviewer, the
-- chain and the delegations then. A step to somebody who may not answer ends the walk before it, a step from somebody who has answered
-- another request likewise, and a delegation without `cascade` behind it.
local function follow_delegations(ctx, own, one)
  if not cascades(ctx, one) then return end
  local steps = select(2, string.gsub(one.chain, '>', ''))
  for _ = steps + 1, number_of(own, 'p_delegation_depth') do  -- at most 4: delegation_depth
    local person = string.match(one.reviewer, '^user:(.+)$')
    local led = person and find_delegation(ctx, own, person)
    if not led or not leads_on(own, person, led.fields) or not can_be_asked(own, 'user:' .. led.fields.to) then return end
    one.reviewer, one.chain = 'user:' .. led.fields.to, one.chain .. '>' .. person
    one.via = one.via .. '>' .. via_of(led.name, led.fields)
    if led.fields.cascade == '0' then return end
  end
end
