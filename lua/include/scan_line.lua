-- scan_line(search, resource, order, code, by, counted): who waits behind that place in the line of a resource for
-- what stands there, or for somebody who does: whoever conflicts with it, and all behind. A holder's place is ''. Each
-- is noted once, with whom it waits for. From the place `search.from[resource]` on all are known already. counted:
-- permits play a part.
-- NEEDS graph permits_of
local function scan_line(search, resource, order, code, by, counted)
  local line, from = 'r ' .. resource .. ' q ', search.from[resource]
  if search.left < 0 or from and from <= order then return end
  local members = redis.call('ZRANGE', graph, order == '' and '[' .. line or '(' .. line .. order .. '!',
    '(' .. line .. (from or '~'), 'BYLEX', 'LIMIT', 0, search.left + 1)
  search.left = search.left - #members
  local last = code ~= 's' and by or nil
  if last then search.from[resource] = order end
  counted = counted or permits_of(code)
  for _, member in ipairs(members) do
    local at, wanted, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    counted = counted or permits_of(wanted)
    if last or wanted ~= 's' then
      if not last then search.from[resource] = at end
      if not search.found[owner] then
        local node = { owner = owner, rid = rid, code = wanted, resource = resource, counted = counted,
          waits_for = wanted == 's' and last or by }
        search.found[owner] = node
        search.todo[#search.todo + 1] = node
      end
      if wanted ~= 's' then last = owner end
    end
  end
end
