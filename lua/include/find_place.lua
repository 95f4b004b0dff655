-- find_place(conf, request, tail): a place in line for a request that has to wait, at which no circle of waits closes:
-- the one that its priority gives it, else the last one, else just ahead of the first who depends on it, and so on:
-- any other place has a circle if these have one. With permits not every circle is for ever, so there it moves by one
-- at a time. Nil, or the search that has found a circle wherever it stands. request.unchecked: the search was too
-- long.
-- NEEDS find_dependents place_before is_stuck
local function find_place(conf, request, tail)
  local moved = request.order == tail
  while conf.visits >= 0 do  -- at most 100,000: each search visits at least one
    local search = find_dependents(conf, request)
    if not search.hard then
      if search.left < 0 then break end
      if not search.maybe and not search.soft then return nil end
      local stuck = true
      if search.permits then stuck = is_stuck(conf, request) end
      if stuck == nil then break end
      if not stuck then return nil end
    end
    if not moved then
      request.order, moved = tail, true
    elseif search.hard or not search.soft then
      return search
    else
      request.order = place_before(request, (search.permits and search.last or search.soft).order)
    end
  end
  request.unchecked = true
end
