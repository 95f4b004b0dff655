-- asked_slot(own, people): the slot of the request that one of these persons has, or has answered, in the review of a change; or nil. An
-- agent answers for a person, so `slots` does not name it.
local function asked_slot(own, people)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    for _, person in ipairs(people) do  -- at most 2: an actor and a principal
      if one.by == person or is_asked(one, person) then return tonumber(one.slot) end
    end
    if one.by ~= '' and text_of(own, 'p_agents_may_vote') == '1' then
      local agent = redis.call('HGET', requests .. own.id .. '/' .. one.slot, 'reviewed_by')
      if agent == people[1] or agent == people[2] then return tonumber(one.slot) end
    end
  end
end
