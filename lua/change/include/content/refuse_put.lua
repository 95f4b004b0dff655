-- refuse_put(own, person): the answer if this call may not write the change, or nil.
local function refuse_put(own, person)
  if expect_rev == 0 then return { 'exists', own.state, own.rev, own.digest } end
  if expect_rev ~= own.rev then return { 'outdated', own.state, own.rev, own.digest } end
  if own.state ~= 'draft' and own.state ~= 'submitted' and own.state ~= 'reviewing' and own.state ~= 'approved' then
    return { 'state', own.state, own.rev }
  end
  local slot = own.state ~= 'draft' and text_of(own, 'p_contributors_may_vote') ~= '1' and asked_slot(own, { actor, person })
  if slot then return { 'is_reviewer', own.state, slot } end
end
