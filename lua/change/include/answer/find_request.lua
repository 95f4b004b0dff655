-- find_request(ctx, own, slot, person, action): the request that this call answers: the one that this person has answered in this round, or
-- else a pending one that asks the actor, before one that asks a group of the actor; slot 0: any. Or nil and why the person may not answer.
local function find_request(ctx, own, slot, person, action)
  if kind == 'agent' and text_of(own, 'p_agents_may_vote') ~= '1' then return nil, 'agent' end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(own.id, { actor, person }) then return nil, 'contributor' end
  local member = { ['user:' .. actor] = 2 }
  for _, group in ipairs(groups) do member['group:' .. group] = 1 end  -- at most 32: groups
  local found, best, why = nil, 0, 'not_reviewer'
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    local fits, rank = slot == 0 or tonumber(one.slot) == slot, member[one.reviewer] or 0
    if one.by == person then
      if not fits or rank == 0 then return nil, 'answered' end
      if action ~= 'retract' and not still_holds(ctx, own, one) then return nil, 'not_reviewer' end
      if action ~= 'retract' and is_behind_another(own, one, { actor, person }) then return nil, 'answered' end
      return one
    end
    if one.status == 'pending' and fits and rank > best then
      if is_behind_another(own, one, { actor, person }) then why = 'answered' else found, best = one, rank end
    end
  end
  return found, why
end
