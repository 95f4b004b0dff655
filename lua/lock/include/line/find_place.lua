-- find_place(ctx, request, tail, search): a place in line for a request that has to wait, at which no cycle of waits
-- closes: the one that its priority gives it, else the last one, else just ahead of the first who depends on it, and so
-- on: any other place has a cycle if these have one. With permits not every cycle is for ever, so there it moves ahead
-- of those that are stuck. Nil, or the search that has found a cycle wherever it stands. request.unchecked: the
-- search was too long; request.search is how far it has come, and `search` that of an earlier call.
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
    if not moved then
      request.order, moved = tail, true
      search = new_search(request)
    elseif search.hard or not ahead then
      return search
    else
      ctx.visits = ctx.visits - 1 - #request.parts
      request.order = place_before(request, ahead)
      if search.soft and search.soft.order >= request.order then search.soft = nil end
    end
  end
  request.unchecked, request.search = true, search
end
