-- load_waits(ctx, search): read all holds and waits of the owners that a search has found into `entries`, for
-- is_deadlocked, and the number of permits. False if that takes more than ctx.visits.
local function load_waits(ctx, search)
  for n = search.loaded + 1, search.count do
    local owner = search.todo[n].owner
    local members = members_below('o ' .. owner, math.max(ctx.visits, 1))
    ctx.visits = ctx.visits - 1 - #members
    if ctx.visits <= 0 then return false end
    for _, member in ipairs(members) do
      local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
      if not resource then
        order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
      end
      search.entries[#search.entries + 1] = { owner = owner, resource = resource, order = order, code = code }
    end
    search.loaded = n
  end
  for n = search.sized or 1, #search.entries do
    local entry = search.entries[n]
    if permits_of(entry.code) and not search.rooms[entry.resource] then
      local room = read_capacity(ctx, entry.resource)
      search.rooms[entry.resource] = room and room.status == 'active' and room.max or 0
      ctx.visits = ctx.visits - 1
    end
    search.sized = n + 1
  end
  return true
end
