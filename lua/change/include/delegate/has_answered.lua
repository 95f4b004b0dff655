-- has_answered(own, person): whether this person, or an agent for it, has answered a request in this round; or it has for another.
local function has_answered(own, person)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if answered_by(one, person) then return true end
  end
  return false
end
