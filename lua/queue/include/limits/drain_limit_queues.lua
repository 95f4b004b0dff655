-- drain_limit_queues(ctx, keys, again): see to the lines of these limits, as drain_limit_queue does. What is more than one call may do is left to
-- the next claims.
local function drain_limit_queues(ctx, keys, again)
  local batch, later, lines = { by_lane = {}, freed = {}, due = {}, looks = {}, emptied = {}, ended = {} }, {}, nil
  for i, key in ipairs(keys) do
    if ctx.steps > 0 then
      if i % 100 == 1 then lines = peek_lines(ctx, keys, i, again) end
      drain_limit_queue(ctx, key, lines[key], batch)
    elseif not again then  -- with `again`, the key is still due and will be looked at by the next call
      later[#later + 1] = ctx.now - BAND
      later[#later + 1] = key
    end
  end
  local freed, due, looks, emptied, ended = batch.freed, batch.due, batch.looks, batch.emptied, batch.ended
  for first = 1, #emptied, 7000 do redis.call('DEL', unpack(emptied, first, math.min(first + 6999, #emptied))) end
  for first = 1, #freed, 7000 do redis.call('ZREM', blocked, unpack(freed, first, math.min(first + 6999, #freed))) end
  for first = 1, #due, 7000 do redis.call('ZADD', deadlines, unpack(due, first, math.min(first + 6999, #due))) end
  for first = 1, #ended, 7000 do redis.call('ZREM', limit_lines, unpack(ended, first, math.min(first + 6999, #ended))) end
  for first = 1, #looks, 7000 do
    redis.call('ZADD', limit_lines, unpack(looks, first, math.min(first + 6999, #looks)))
  end
  for first = 1, #later, 7000 do
    redis.call('ZADD', limit_lines, 'XX', 'LT', unpack(later, first, math.min(first + 6999, #later)))
  end
  make_ready(ctx, batch.by_lane)
  for first = 1, #freed, 1000 do
    emit(ctx, 'task.unblocked', table.concat(freed, ' ', first, math.min(first + 999, #freed)), '')
  end
end
