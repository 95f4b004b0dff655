-- asked_slot(own, people): the slot of the request that one of these persons has, or has answered or delegated, in the review of a change;
-- or nil. An agent does both for a person, so `slots` does not name both.
local function asked_slot(own, people)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    for _, person in ipairs(people) do  -- at most 2: an actor and a principal
      if one.by == person or is_asked(one, person) then return tonumber(one.slot) end
    end
    if one.by ~= '' and text_of(own, 'p_agents_may_vote') == '1' or one.chain ~= '' then
      local row = redis.call('HMGET', requests .. own.id .. '/' .. one.slot, 'reviewed_by', 'delegated_for')
      local behind = one.chain ~= '' and ',' .. (row[2] or '') .. ',' or ''
      for person in string.gmatch(one.via, '>[^>:]*:([^>]+)') do behind = behind .. person .. ',' end  -- at most 4: delegation_depth
      for _, person in ipairs(people) do  -- at most 2: likewise
        if row[1] == person or string.find(behind, ',' .. person .. ',', 1, true) then return tonumber(one.slot) end
      end
    end
  end
end
