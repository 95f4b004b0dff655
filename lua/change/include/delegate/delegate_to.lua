-- delegate_to(own, one, person): the answer if a request cannot go on to this person, or nil.
local function delegate_to(own, one, person)
  if is_asked(one, person) then return { 'cycle' } end
  if select(2, string.gsub(one.chain, '>', '')) + 1 > own.p_delegation_depth then return { 'too_deep', own.p_delegation_depth } end
  if own.p_contributors_may_vote ~= '1' and has_written(own.id, { person }) then return { 'not_eligible', 'contributor' } end
  if not can_be_asked(own, 'user:' .. person) then return { 'not_eligible', 'answered' } end
end
