-- delegations_of(ctx, person): the delegations of a person, { name, fields, at }, by the bytes of their names. A call reads them once.
local function delegations_of(ctx, person)
  local list = ctx.known[person]
  if list then return list end
  list = {}
  local stored = redis.call('HGETALL', delegations .. person)  -- at most 17: delegations of a person, and `#at`
  for at = 1, #stored, 2 do
    if string.sub(stored[at], 1, 1) ~= '#' then list[#list + 1] = { name = stored[at], fields = delegation_fields(stored[at + 1]) } end
  end
  if list[2] then table.sort(list, function(one, other) return bytes_before(one.name, other.name) end) end
  for at, one in ipairs(list) do one.at = at end  -- at most 16: delegations of a person
  ctx.known[person], ctx.looked = list, ctx.looked + 20 * #list
  return list
end
