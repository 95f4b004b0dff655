-- lines_of(ctx, search, request): what was loaded of those that a search has found, with the request at its place, as
-- is_deadlocked plays it through: `lines` by resource, waiters in order, with how many holds are left (`all`), how many that
-- are not shared (`alone`), that are not permits (`solid`), and the permits (`taken`); `holds` and `waits` by owner, and
-- `need`, for how many of its waits it is not yet free.
local function lines_of(ctx, search, request)
  local state = search.state or { lines = {}, holds = {}, waits = {}, size = 0 }
  local function add(owner, resource, order, code)
    local permits = permits_of(code)
    local line = state.lines[resource] or { holds = {}, own = {} }
    local entry = { owner = owner, line = line, order = order, code = code, permits = permits, resource = resource }
    local list = order == '' and state.holds or state.waits
    state.lines[resource], list[owner] = line, list[owner] or {}
    table.insert(list[owner], entry)
    table.insert(order == '' and line.holds or line, entry)
    line.max, line.mixed = search.rooms[resource], true
    if order == '' and not permits then line.own[owner] = (line.own[owner] or 0) + 1 end
  end
  for n = state.size + 1, #search.entries do
    local entry = search.entries[n]
    add(entry.owner, entry.resource, entry.order, entry.code)
  end
  for _, part in ipairs(search.state and {} or request.parts) do
    if part.fence == '0' then
      if permits_of(part.code) and not search.rooms[part.resource] then
        local room = read_capacity(ctx, part.resource)
        search.rooms[part.resource] = room and room.status == 'active' and room.max or 0
      end
      add(request.owner, part.resource, request.order, part.code)
    end
  end
  search.state, state.size, state.need = state, #search.entries, {}
  for _, wait in ipairs(state.waits[request.owner]) do wait.order, wait.line.mixed = request.order, true end
  for owner in pairs(state.holds) do state.need[owner] = 0 end
  for owner, waits in pairs(state.waits) do state.need[owner] = #waits end
  for _, line in pairs(state.lines) do
    if line.mixed then table.sort(line, function(one, other) return one.order < other.order end) end
    line.mixed, line.first, line.at, line.all, line.alone, line.solid, line.taken = false, 1, 1, 0, 0, 0, 0
    for _, wait in ipairs(line) do wait.free = nil end
    for _, hold in ipairs(line.holds) do
      line.all, line.alone = line.all + 1, line.alone + (hold.code == 's' and 0 or 1)
      line.solid, line.taken = line.solid + (hold.permits and 0 or 1), line.taken + (hold.permits or 0)
    end
  end
  ctx.visits = ctx.visits - math.ceil(#search.entries / 2)
  return state
end
