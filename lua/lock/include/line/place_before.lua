-- place_before(request, order): a place directly before `order` in all queues of the request, and behind every waiter
-- that is before `order`. A later jump to the same place sorts before an earlier one.
local function place_before(request, order)
  local last = string.rep('0', 26)
  for _, part in ipairs(request.parts) do
    local line = 'r ' .. part.resource .. ' q '
    local member = redis.call('ZRANGE', graph, '(' .. line .. order, '[' .. line, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
    local before = member and string.match(member, '^r %S+ q (%d+) ')
    if before and last < before then last = before end
  end
  return last .. string.format('%012.0f', 999999999999 - redis.call('HINCRBY', requests, '#seq', 1))
end
