-- load_waits(conf, request): all that a request waits for, directly or through others, for is_stuck: `lines` by
-- resource, each with its permits and with who holds it or waits for it; `waits` by owner. nil if that is more than
-- conf.visits entries.
-- NEEDS members_below read_capacity
local function load_waits(conf, request)
  local lines, waits, todo, left, at = {}, {}, {}, conf.visits, 1
  local function add_wait(owner, resource, order, code)
    local wait = { owner = owner, resource = resource, order = order, code = code }
    waits[owner] = waits[owner] or {}
    table.insert(waits[owner], wait)
    if not lines[resource] then
      local room = read_capacity(conf, resource)
      lines[resource] = { max = room and room.status == 'active' and room.max or 0 }
      todo[#todo + 1] = resource
    end
    return wait
  end
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      local wait = add_wait(request.owner, part.resource, request.order, part.code)
      table.insert(lines[part.resource], wait)
    end
  end
  while todo[at] do  -- at most 100,000: conf.visits
    local line, members = lines[todo[at]], members_below('r ' .. todo[at], left + 1)
    at = at + 1
    left = left - #members
    if left < 0 then return nil end
    for _, member in ipairs(members) do
      local order, code, owner = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) %S+$')
      if not order then
        order, code, owner = '', string.match(member, '^r %S+ h (%S+) (%S+) %S+$')
      end
      table.insert(line, { owner = owner, order = order, code = code })
      if not waits[owner] then
        waits[owner] = {}
        for _, wait in ipairs(members_below('o ' .. owner .. ' w', 32)) do
          add_wait(owner, string.match(wait, '^o %S+ w (%S+) (%S+) (%S+) %S+$'))
        end
      end
    end
  end
  return lines, waits
end
