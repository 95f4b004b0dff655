-- note_task(id, place): a task that follows a step is in its queue, and has another id than `<domain>/<change>/<seq>`. place: how it ends,
-- `<seq>/<more>`. Of a change, the last 20 are known.
local function note_task(id, place)
  local known = redis.call('HGET', change .. id, 'follow_ids')
  local list = known and known .. ',' .. place or place
  local _, count = string.gsub(list, ',', '')
  if count == 20 then list = string.sub(list, string.find(list, ',', 1, true) + 1) end
  redis.call('HSET', change .. id, 'follow_ids', list)
end
