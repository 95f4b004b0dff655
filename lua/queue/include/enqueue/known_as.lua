-- known_as(id, stamp): what an id answers that is in use: created to the call that made it, or an older task of this id that is
-- still remembered; else exists, and whether a later item of this call made it; nil if it is free.
local function known_as(id, stamp)
  local row = redis.call('HMGET', task .. id, 'rid', 'created_ms', 'earlier')
  if row[1] == stamp or string.find(' ' .. (row[3] or '') .. ' ', ' ' .. stamp .. ' ', 1, true) then return 'created' end
  if row[2] then return 'exists', is_later(row[1], stamp) end
end
