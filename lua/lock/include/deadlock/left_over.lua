-- left_over(search, request, state, gone): after is_deadlocked: the place of the foremost waiter ahead of the request
-- that is left over, if there is one. The request has to go before it: at any place behind, it blocks at least as many,
-- so that waiter is left over there too. search.maybe: a holder of what the request waits for.
local function left_over(search, request, state, gone)
  local foremost
  search.maybe = nil
  for resource, wanted in pairs(search.wants) do
    local line = state.lines[resource]
    for _, wait in ipairs(line) do
      local blocks = wait.order < request.order and not gone[wait.owner] and (wanted ~= 's' or wait.code ~= 's')
      if blocks and not (foremost and foremost < wait.order) then foremost = wait.order end
    end
  end
  for owner, holds in pairs(state.holds) do
    for _, hold in ipairs(gone[owner] and {} or holds) do
      local wanted = search.wants[hold.resource]
      local blocks = wanted and (wanted ~= 's' or hold.code ~= 's')
        and (owner ~= request.owner or hold.permits or string.sub(wanted, 1, 1) == 'p')
      -- the same one each time, in whatever order a table gives them
      if blocks and not (search.maybe and search.maybe.owner < owner) then
        search.maybe = { owner = owner, resource = hold.resource, order = '' }
      end
    end
  end
  return foremost
end
