-- known_as(id, stamp): the answer for an id that is in use: 'created' if this call created the task (or an earlier task
-- with this id), otherwise 'exists' and whether a later item of this call created it; nil if the id is free.
local function known_as(id, stamp)
  local row = redis.call('HMGET', task .. id, 'rid', 'created_ms', 'earlier')
  if row[1] == stamp or string.find(' ' .. (row[3] or '') .. ' ', ' ' .. stamp .. ' ', 1, true) then return 'created' end
  if row[2] then return 'exists', is_later(row[1], stamp) end
end
