-- find_delegation(ctx, own, person): the name and the fields of the first delegation of a person that fits a change, by the bytes of their
-- names; or nil.
local function find_delegation(ctx, own, person)
  local names = redis.call('HKEYS', delegations .. person)  -- at most 17: delegations of a person, and `#at`
  table.sort(names, bytes_before)
  for _, name in ipairs(names) do  -- at most 17: likewise
    local fields = read_delegation(person, name)
    if fields and fits_delegation(ctx, own, fields) then return name, fields end
  end
end
