-- is_behind(part, order): whether somebody who waits for the resource before that place goes first. Shared waiters
-- pass those shared waiters that wait for something else as well, up to 64 of them.
-- NEEDS graph
local function is_behind(part, order)
  local line, most = 'r ' .. part.resource .. ' q ', part.code == 's' and 64 or 1
  local ahead = redis.call('ZRANGE', graph, '[' .. line, '(' .. line .. order, 'BYLEX', 'LIMIT', 0, most)
  if #ahead == most then return true end
  for _, member in ipairs(ahead) do
    if not string.find(member, '^r %S+ q %S+ s ') then return true end
  end
  return false
end
