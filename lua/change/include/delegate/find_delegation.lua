-- find_delegation(ctx, own, person): the name and the fields of the first delegation of a person that fits a change, by the bytes of their
-- names; or nil. A call reads those of a person once.
local function find_delegation(ctx, own, person)
  local list = ctx.known[person]
  if not list then
    list = {}
    local names = redis.call('HKEYS', delegations .. person)  -- at most 17: delegations of a person, and `#at`
    table.sort(names, bytes_before)
    for _, name in ipairs(names) do  -- at most 17: likewise
      local fields = read_delegation(person, name)
      if fields then list[#list + 1] = { name = name, fields = fields } end
    end
    ctx.known[person] = list
  end
  for _, one in ipairs(list) do  -- at most 16: delegations of a person
    if fits_delegation(ctx, own, one.fields) then return one.name, one.fields end
  end
end
