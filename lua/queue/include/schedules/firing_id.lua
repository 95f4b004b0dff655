-- firing_id(id, at_text): the id for the task of a schedule's time, and whether somebody has taken `id`, which anybody can
-- guess, for another task: then it is one that nobody can know before.
local function firing_id(id, at_text)
  if id ~= name .. '@' .. at_text then return id end
  local row = redis.call('HMGET', task .. id, 'created_ms', 'schedule')
  if not row[1] or row[2] == name then return id end
  local another = id .. '/' .. string.sub(rid, 1, 60)
  return another, redis.call('HEXISTS', task .. another, 'created_ms') == 0
end
