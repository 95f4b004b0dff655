-- find_place(ctx, request, tail, search): a place in line for a request that has to wait, at which no cycle closes. It
-- tries the place of its priority, then the last one, then just ahead of the first waiter that depends on it, and so
-- on: if these have a cycle, every place has one. With permits, not every cycle is a deadlock, so there it moves ahead
-- of those that are stuck. Returns nil, or the search that has found a cycle at every place. request.unchecked: the
-- search was too long; request.search says how far it came, and `search` is that of an earlier call.
local function find_place(ctx, request, tail, search)
  local moved = search ~= nil or request.order == tail
  search = search or new_search(request)
  for _ = 1, 1000 do
    search.short = nil
    if not find_dependents(ctx, search, request) then break end
    local ahead = search.soft and search.soft.order
    if not search.hard then
      if not search.maybe and not ahead then return nil end
      if search.permits then
        local stuck, state, gone = is_deadlocked(ctx, search, request)
        search.short = stuck == nil and request.order or nil
        if stuck == nil then break end
        if not stuck then return nil end
        ahead = left_over(search, request, state, gone)
      end
    end
    if not moved and search.behind then -- otherwise its place is the last one
      request.order = tail
      search = new_search(request)
    elseif search.hard or not ahead then
      return search
    else
      ctx.visits = ctx.visits - 1 - #request.parts
      request.order = place_before(request, ahead)
      if search.soft and search.soft.order >= request.order then search.soft = nil end
    end
    moved = true
  end
  request.unchecked, request.search = true, search
end
