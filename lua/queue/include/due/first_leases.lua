-- first_leases(ctx, limit): choose which expired leases a sweep takes back, if there are more than limit: by deadline,
-- then by the places of their tasks, not by id. Looks at 1,000.
local function first_leases(ctx, limit)
  local page = redis.call('ZRANGE', leases, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
  local ids, due, place, first = {}, {}, {}, {}
  for i = 1, #page, 2 do
    ids[#ids + 1] = page[i]
    due[page[i]] = tonumber(page[i + 1])
  end
  local held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: the page
  for i, id in ipairs(ids) do place[id] = tonumber(string.match(held[i] or '', '^%S+ (%d+)') or 0) end
  table.sort(ids, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  for i = 1, limit do first[i] = ids[i] end
  return first
end
