-- leads_back(person, to): whether the delegations of `to`, and of those to whom they lead, lead back to this person. It looks at 64 persons;
-- a walk is bounded anyway.
local function leads_back(person, to)
  local seen, left = { [to] = true }, { to }
  for at = 1, 64 do  -- at most 64: persons
    local one = left[at]
    if not one then return false end
    if one == person then return true end
    for _, name in ipairs(redis.call('HKEYS', delegations .. one)) do  -- at most 17: delegations of a person, and `#at`
      local fields = read_delegation(one, name)
      if fields and not seen[fields.to] then
        seen[fields.to] = true
        left[#left + 1] = fields.to
      end
    end
  end
  return false
end
