-- delegate_to(own, one, person, via): the answer if a request cannot go on to this person, or nil. None of both may be a contributor. via: the delegations that led here.
local function delegate_to(own, one, person, via)
  if is_asked(one, person) then return { 'cycle' } end
  if select(2, string.gsub(one.chain, '>', '')) + 1 > number_of(own, 'p_delegation_depth') then return { 'too_deep', number_of(own, 'p_delegation_depth') } end
  if not cascades(one, via) then return { 'not_eligible', 'no_cascade' } end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(own.id, { person, actor, principal ~= '' and principal or actor }) then return { 'not_eligible', 'contributor' } end
  if not can_be_asked(own, 'user:' .. person) then return { 'not_eligible', 'answered' } end
end
