-- keep_result(ctx, id, value, own_ms, kept): keep a result with its record, or for a time, or not at all, as the task
-- or the queue says. kept: arguments of one MSET for the whole call. Returns false if it was dropped because the server
-- is full.
-- EARLY
local function keep_result(ctx, id, value, own_ms, kept)
  local keep_ms = own_ms or ctx.settings.result_ms
  if value == '' or keep_ms == 0 then return true end
  if #value > 4096 and is_full() then return false end
  if not keep_ms then
    kept[#kept + 1], kept[#kept + 2] = result .. id, value
  else
    -- Past its time it is not shown; the server deletes it later, by its own clock.
    redis.call('HSET', task .. id, 'result_until_ms', string.format('%.0f', ctx.now + keep_ms))
    redis.call('SET', result .. id, value, 'PX', string.format('%.0f', math.max(2 * keep_ms, 60000)))
  end
  return true
end
