-- place_of(request): the place of a waiter, from 1; with several lines, the last one.
local function place_of(request)
  local place = 0
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      local line = 'r ' .. part.resource .. ' q '
      place = math.max(place, 1 + redis.call('ZLEXCOUNT', graph, '[' .. line, '(' .. line .. request.order))
    end
  end
  return place
end
