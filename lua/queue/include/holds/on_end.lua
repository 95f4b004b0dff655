-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope
local function holds_on_end(ctx, id, own)
  redis.call('ZREM', deadlines, id)
  local fields, mine = {}, {}
  if own.unique then fields[1] = 'unique:' .. own.unique end
  if own.scope then fields[#fields + 1] = 'scope:' .. own.scope end
  local held = fields[1] and redis.call('HMGET', once, unpack(fields)) or {}  -- at most 2: as above
  for i, field in ipairs(fields) do
    if held[i] == id then mine[#mine + 1] = field end
  end
  if mine[1] then redis.call('HDEL', once, unpack(mine)) end  -- at most 2: as above
end
