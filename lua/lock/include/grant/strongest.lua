-- strongest(owner, resource): the code of the strongest hold of an owner on a resource; nil if it has none.
local function strongest(owner, resource)
  local held = 'o ' .. owner .. ' h ' .. resource
  local last = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  return last and string.match(last, '^.* (%S+) %S+$')
end
