-- first_due(page, limit): choose which of the tasks that are due at the same time are promoted, at most limit, if some
-- of them crashed again: those keep the order that they had when they were leased, behind the others. Looks at 1,000.
-- nil if none crashed again.
local function first_due(page, limit)
  local last = page[2 * limit]
  if tonumber(redis.call('HGET', config, 'crashed_due_ms') or 0) < tonumber(page[2]) then return nil end
  if page[2 * limit + 2] == last then page = redis.call('ZRANGE', delayed, '-inf', last, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES') end
  local ids, due, place, first = {}, {}, {}, {}
  for i = 1, #page, 2 do
    local id = page[i]
    local at_ms, score = string.match(redis.call('HGET', task .. id, 'stood') or '', '^(%d+) (%d+)$')
    ids[#ids + 1], due[id] = id, tonumber(page[i + 1])
    place[id] = at_ms == page[i + 1] and tonumber(score) or 0
  end
  table.sort(ids, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  for i = 1, limit do first[i] = ids[i] end
  return first
end
