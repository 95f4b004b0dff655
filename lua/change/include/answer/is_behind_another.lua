-- is_behind_another(own, one, people): whether an answer of these persons to a request would be a second one of somebody in this round: one of
-- them has answered or delegated another request, also for somebody else, or one who has delegated this request is behind another answer.
local function is_behind_another(own, one, people)
  local these, all = {}, {}
  for _, person in ipairs(people) do these[person], all[person] = true, true end  -- at most 2: an actor and a principal
  for _, person in ipairs(givers_of(own, one)) do all[person] = true end  -- at most 8: delegation_depth, and principals
  for _, other in ipairs(slots_of(own)) do  -- at most 32: slots
    if other ~= one then
      local wanted = other.by ~= '' and all or these
      if wanted[other.by] or wanted[other.sender] then return true end
      for _, person in ipairs(givers_of(own, other)) do  -- at most 8: likewise
        if wanted[person] then return true end
      end
    end
  end
  return false
end
