-- firing_id(id, at_text): the id for the task of a schedule's time. If somebody has taken `id`, which anybody can guess, for another
-- task, it is one that nobody can know before; for the same time it is always the same. `seed` is what it is made of, if there is no
-- task of it yet: then the caller must pass it to note_taken_id.
local function firing_id(id, at_text)
  if id ~= name .. '@' .. at_text then return id end
  local row = redis.call('HMGET', task .. id, 'created_ms', 'schedule')
  if not row[1] or row[2] == name then return id end
  local seed = redis.call('HGET', schedule .. name, 'seed') or redis.sha1hex(rid)
  local another = id .. '/' .. string.sub(redis.sha1hex(seed .. ' ' .. at_text), 1, 20)
  return another, redis.call('HEXISTS', task .. another, 'created_ms') == 0 and seed or nil
end
