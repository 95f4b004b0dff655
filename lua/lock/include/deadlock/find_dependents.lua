-- find_dependents(ctx, search, request): continue a search until all owners are found that wait for the owner of the
-- request, directly or through others, or until a cycle is certain. False if that takes more than ctx.visits, which
-- counts commands and what they read.
local function find_dependents(ctx, search, request)
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then search.wants[part.resource] = part.code end
    if part.fence == '0' and search.place ~= request.order then
      search.scans[#search.scans + 1] =
        { resource = part.resource, order = request.order, code = part.code, by = request.owner, counted = false, own = true }
    end
  end
  search.place = request.order
  -- at most 20,001: each step uses one of ctx.visits, or removes a line that was already read (at most 32 per waiter)
  while not search.hard do
    local scan = search.scans[#search.scans]
    if ctx.visits <= 0 then
      return false
    elseif scan then
      if scan_line(ctx, search, scan) then table.remove(search.scans) end
    elseif search.todo[search.at] then
      visit_waiter(ctx, search, request, search.todo[search.at])
    else
      return true
    end
  end
  return true
end
