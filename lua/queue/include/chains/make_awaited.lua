-- make_awaited(ctx, id): mark a task that other tasks wait for: from now on it has ties. If it has ended already, note
-- its end for all waiting tasks that this call adds. One that this call has made waits itself.
local function make_awaited(ctx, id)
  local there = ctx.there[id]
  if there == 'awaited' then return end
  ctx.there[id] = 'awaited'
  if there ~= 'new' then
    local failed = redis.call('ZSCORE', dead, id) or redis.call('HEXISTS', task .. id, 'cancelled_ms') == 1
    if failed or redis.call('ZSCORE', finished, id) then
      return note_end(ctx, failed and 'f' or 'c', id)
    end
  end
  redis.call('HSET', task .. id, 'awaited', '1', 'ties', '1')
  local held = there ~= 'new' and redis.call('HGET', running, id)
  if held and not string.find(held, ' ties[^|]*|') then
    redis.call('HSET', running, id, (string.gsub(held, '^(%S+ %d+ [^ |]+)', '%1 ties')))
  end
end
