-- asked_slot(own, people): the slot of the request that one of these persons has, or has answered, in the review of a change; or nil.
local function asked_slot(own, people)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    for _, person in ipairs(people) do  -- at most 2: an actor and a principal
      if one.by == person or is_asked(one, person) then return tonumber(one.slot) end
    end
  end
end
