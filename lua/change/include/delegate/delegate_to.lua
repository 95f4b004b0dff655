-- delegate_to(ctx, own, one, person, giver): the answer if a request cannot go on to this person, or nil. Neither it nor the actor, nor the
-- giver, who answers for an agent, may be a contributor or be behind another answer.
local function delegate_to(ctx, own, one, person, giver)
  if is_asked(one, person) then return { 'cycle' } end
  local depth = number_of(own, 'p_delegation_depth')
  if select(2, string.gsub(one.chain, '>', '')) + 1 > depth then return { 'too_deep', depth } end
  if not cascades(ctx, one) then return { 'not_eligible', 'no_cascade' } end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(own.id, { person, actor, giver }) then
    return { 'not_eligible', 'contributor' }
  end
  if not can_be_asked(own, 'user:' .. person) or is_behind_another(own, one, { actor, giver }) then return { 'not_eligible', 'answered' } end
end
