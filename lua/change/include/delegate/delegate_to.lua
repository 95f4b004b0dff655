-- delegate_to(own, one, person, via): the answer if a request cannot go on to this person, or nil. Neither it nor the actor may
-- be a contributor. via: the delegations that led here.
local function delegate_to(own, one, person, via)
  if is_asked(one, person) then return { 'cycle' } end
  local depth = number_of(own, 'p_delegation_depth')
  if select(2, string.gsub(one.chain, '>', '')) + 1 > depth then return { 'too_deep', depth } end
  if not cascades(one, via) then return { 'not_eligible', 'no_cascade' } end
  local people = { person, actor, principal ~= '' and principal or actor }
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(own.id, people) then return { 'not_eligible', 'contributor' } end
  if not can_be_asked(own, 'user:' .. person) then return { 'not_eligible', 'answered' } end
end
