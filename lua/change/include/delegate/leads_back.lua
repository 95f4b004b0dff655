-- leads_back(ctx, person, to): whether the delegations of `to`, and of those to whom they lead, lead back to this person. It looks at 64 persons,
-- and a call at 128; a walk is bounded anyway.
local function leads_back(ctx, person, to)
  local seen, left = { [to] = true }, { to }
  for at = 1, 64 do  -- at most 64: persons
    local one = left[at]
    if not one then return false end
    if one == person then return true end
    for _, next_one in ipairs(led_by(ctx, one)) do  -- at most 16: delegations of a person
      if not seen[next_one] then left[#left + 1] = next_one end
      seen[next_one] = true
    end
  end
  return false
end
