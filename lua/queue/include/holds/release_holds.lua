-- release_holds(ctx, id, how): end what a task holds while it waits or runs: its keys and its deadline. Only tasks
-- with `ties` in their record have any. Its end, `c` for completed or `f`, is noted for those that wait for it. Whether
-- somebody waits for its reply, and for how long its result is kept.
local function release_holds(ctx, id, how)
  redis.call('ZREM', deadlines, id)
  local own = redis.call('HMGET', task .. id, 'unique', 'scope', 'reply', 'result_ms', 'awaited', 'gathered', 'parent', 'ordering_key')
  local fields, mine = {}, {}
  if own[1] then fields[1] = 'unique:' .. own[1] end
  if own[2] then fields[#fields + 1] = 'scope:' .. own[2] end
  local held = fields[1] and redis.call('HMGET', once, unpack(fields)) or {}  -- at most 2: as above
  for i, field in ipairs(fields) do
    if held[i] == id then mine[#mine + 1] = field end
  end
  if mine[1] then redis.call('HDEL', once, unpack(mine)) end  -- at most 2: as above
  if own[5] or own[6] then
    redis.call('HDEL', task .. id, 'awaited', 'gathered')
    note_end(ctx, how, id, own[6] and own[7] .. ' ' .. own[6])
  end
  if own[8] then leave_order(ctx, id, own[8]) end
  return own[3], own[4] and tonumber(own[4])
end
