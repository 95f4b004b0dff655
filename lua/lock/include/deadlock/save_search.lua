-- save_search(rid, request, state, order): save how far a search has come, so that the next call can continue it within
-- ten minutes. `order` is the request's real place.
local function save_search(rid, request, state, order)
  if not state.saved then redis.call('UNLINK', saved) end
  local function block(one) return one and one.owner .. ' ' .. one.resource .. ' ' .. one.order or '' end
  local row = { '#rid', rid, '#stands', order, '#order', request.order, '#place', state.place,
    '#numbers', string.format('%d %d %d', state.count, state.at, #state.scans), '#cursor', state.cursor or '',
    '#hard', block(state.hard), '#maybe', block(state.maybe), '#soft', block(state.soft),
    '#permits', state.permits and 1 or 0, '#short', state.short or '', '#confirmed', state.confirmed or '' }
  local function add(name, value)
    row[#row + 1] = name
    row[#row + 1] = value
  end
  for i, scan in ipairs(state.scans) do
    add('s' .. i, string.format('%s %s %s %s %s %s %s %s', scan.resource, scan.order, scan.code,
      scan.by, scan.counted and 1 or 0, scan.begun and 1 or 0, scan.stop or '', scan.last or ''))
  end
  for resource, from in pairs(state.from) do
    if from then add('l' .. resource, from) end
  end
  for n, node in pairs(state.todo) do
    if node and node.rid and not node.saved then
      add('n' .. n, node.owner)
      add('f' .. node.owner, string.format('%s %s %s %d %s %d', node.rid, node.code, node.resource, node.counted and 1 or 0,
        node.waits_for, node.depth))
    end
  end
  for first = 1, #row, 7000 do redis.call('HSET', saved, unpack(row, first, math.min(first + 6999, #row))) end
  redis.call('PEXPIRE', saved, 600000)
end
