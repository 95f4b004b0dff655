-- untie(conf, id, how): end what a task holds while it waits or runs: its keys and its deadline. Only tasks
-- with `ties` in their record have any. Its end, `c` for completed or `f`, is noted for those that wait for it. Whether
-- somebody waits for its reply, and for how long its result is kept.
local function untie(conf, id, how)
  redis.call('ZREM', deadlines, id)
  local own = redis.call('HMGET', task .. id, 'unique', 'scope', 'reply', 'result_ms', 'awaited', 'gathered', 'parent', 'ordering_key')
  for i, kind in ipairs({ 'unique:', 'scope:' }) do
    local field = own[i] and kind .. own[i]
    if field and redis.call('HGET', once, field) == id then redis.call('HDEL', once, field) end
  end
  if own[5] or own[6] then
    redis.call('HDEL', task .. id, 'awaited', 'gathered')
    note_end(conf, how, id, own[6] and own[7] .. ' ' .. own[6])
  end
  if own[8] then leave_order(conf, id, own[8]) end
  return own[3], own[4] and tonumber(own[4])
end
