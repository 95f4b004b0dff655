-- visit_waiter(ctx, search, request, node): look at what an owner that a search has found holds and waits for, 32 at a
-- time. It adds the lines behind these to `scans`, and checks whether the request may wait for the owner. `hard`: for
-- something that it holds, which is a cycle; `maybe`: the same, but permits are involved; `soft`: it waits ahead of the
-- request; the foremost of these.
local function visit_waiter(ctx, search, request, node)
  local all = 'o ' .. node.owner
  local members = redis.call('ZRANGE', graph, search.cursor and '(' .. search.cursor or '[' .. all .. ' ', '(' .. all .. '!',
    'BYLEX', 'LIMIT', 0, 32)
  ctx.visits = ctx.visits - 1 - #members
  for _, member in ipairs(members) do
    local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
    if not resource then
      order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
    end
    if not search.saved then -- keep the entry: is_deadlocked may need it, and a later call would read changed data
      search.entries[#search.entries + 1] = { owner = node.owner, resource = resource, order = order, code = code }
    end
    search.scans[#search.scans + 1] =
      { resource = resource, order = order, code = code, by = node.owner, counted = node.counted }
    local wanted = search.wants[resource]
    local permits = wanted and (permits_of(code) or permits_of(wanted))
    local blocks = wanted and (wanted ~= 's' or code ~= 's')
    if search.at == 1 then blocks = permits end -- the request's own holds block it only if permits are involved
    local block = { owner = node.owner, resource = resource, order = order }
    if blocks and order == '' and (permits or node.counted) then
      search.maybe = block
    elseif blocks and order == '' then
      search.hard = block
    elseif blocks and order < request.order and not (search.soft and search.soft.order < order) then
      search.soft = block
    end
    if blocks and (permits or node.counted) then search.permits = true end
  end
  search.cursor = members[32]
  if not search.cursor then
    search.at = search.at + 1
    if not search.saved then search.loaded = search.at - 1 end
  end
end
