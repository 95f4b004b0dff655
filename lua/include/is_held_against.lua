-- is_held_against(conf, part, owner): whether holders of the resource keep this owner from it. Holds stand in the
-- order permits, shared, exclusive.
-- NEEDS graph permits_of read_capacity
local function is_held_against(conf, part, owner)
  local held = 'r ' .. part.resource .. ' h'
  local low, high = '[' .. held .. ' ', '(' .. held .. '!'
  if part.code == 'x' then
    local own = 'o ' .. owner .. ' h ' .. part.resource
    return redis.call('ZLEXCOUNT', graph, low, high) > redis.call('ZLEXCOUNT', graph, '[' .. own .. ' s', '(' .. own .. '!')
  end
  local code, by = string.match(redis.call('ZRANGE', graph, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1] or '',
    '^r %S+ h (%S+) (%S+) %S+$')
  if part.code ~= 's' then
    local room = read_capacity(conf, part.resource)
    return code == 'x' or code == 's' or not room or not room.open
      or room.used + permits_of(part.code) > room.max
  end
  if code == 'x' then return by ~= owner end
  return code ~= nil and code ~= 's'
end
