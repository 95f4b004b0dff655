-- find_dependents(conf, request): who waits for the owner of a request, directly or through others, if it waits at its
-- place: a backward search over at most conf.visits entries (over it: `left` is negative). Of those, `hard` holds what
-- the request wants, and ends the search; `maybe` too, but permits play a part; `soft` stands ahead of it, and
-- foremost, `last` nearest.
-- NEEDS members_below permits_of scan_line
local function find_dependents(conf, request)
  local search = { owner = request.owner, left = conf.visits, from = {}, found = {}, todo = {}, wants = {} }
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      search.wants[part.resource] = part.code
      scan_line(search, part.resource, request.order, part.code, request.owner, false)
    end
  end
  local node, at = { owner = request.owner, counted = false }, 0
  while node and search.left >= 0 and not search.hard do  -- at most 100,000: conf.visits
    local members = members_below('o ' .. node.owner, search.left + 1)
    search.left = search.left - #members
    for _, member in ipairs(members) do
      local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
      if not resource then
        order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
      end
      scan_line(search, resource, order, code, node.owner, node.counted)
      local wanted = search.wants[resource]
      local permits = wanted and (permits_of(code) or permits_of(wanted))
      local blocks = wanted and (wanted ~= 's' or code ~= 's')
      if at == 0 then blocks = permits end -- what it has itself may be all that it waits for
      local block = { owner = node.owner, resource = resource, order = order }
      if blocks and order == '' and (permits or node.counted) then
        search.maybe = block
      elseif blocks and order == '' then
        search.hard = block
      elseif blocks and order < request.order then
        if not search.soft or order < search.soft.order then search.soft = block end
        if not search.last or order > search.last.order then search.last = block end
      end
      if blocks and (permits or node.counted) then search.permits = true end
    end
    at = at + 1
    node = search.todo[at]
  end
  conf.visits = search.left
  return search
end
