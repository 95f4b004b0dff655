-- asked_slot(own, people): the slot of the request that one of these persons has, or has answered or delegated, in the review of a change;
-- or nil. An agent does both for a person, so `slots` does not name both.
local function asked_slot(own, people)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    local row = {}
    if one.by ~= '' and text_of(own, 'p_agents_may_vote') == '1' or one.chain ~= '' then
      row = redis.call('HMGET', requests .. own.id .. '/' .. one.slot, 'reviewed_by', 'delegated_for')
    end
    for _, person in ipairs(people) do  -- at most 2: an actor and a principal
      local behind = one.chain ~= '' and string.find(',' .. (row[2] or '') .. ',', ',' .. person .. ',', 1, true)
      if one.by == person or row[1] == person or behind or is_asked(one, person) then return tonumber(one.slot) end
    end
  end
end
