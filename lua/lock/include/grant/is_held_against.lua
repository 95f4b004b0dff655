-- is_held_against(ctx, part, owner): whether holders of the resource block this owner. The members are sorted: permits,
-- shared, exclusive.
local function is_held_against(ctx, part, owner)
  local line, held = line_of(ctx, part.resource), 'r ' .. part.resource .. ' h'
  local low, high = '[' .. held .. ' ', '(' .. held .. '!'
  if part.code == 'x' then
    line.holds = line.holds or redis.call('ZLEXCOUNT', graph, low, high)
    if line.holds == 0 then return false end
    local own = 'o ' .. owner .. ' h ' .. part.resource
    return line.holds > redis.call('ZLEXCOUNT', graph, '[' .. own .. ' s', '(' .. own .. '!')
  end
  if line.code == nil then
    local strongest = redis.call('ZRANGE', graph, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
    line.code, line.by = string.match(strongest or '', '^r %S+ h (%S+) (%S+) ')
    line.code = line.code or false
  end
  if part.code ~= 's' then
    line.room = line.room or read_capacity(ctx, part.resource)
    local room = line.room
    return line.code == 'x' or line.code == 's' or not room or not room.open
      or room.used + permits_of(part.code) > room.max
  end
  if line.code == 'x' then return line.by ~= owner end
  return line.code and line.code ~= 's'
end
