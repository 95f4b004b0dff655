-- holder_of(id, field): the id of another task that holds this key, or nil.
local function holder_of(id, field)
  local holder = field and redis.call('HGET', once, field)
  if holder and holder ~= id and redis.call('HEXISTS', task .. holder, 'created_ms') == 1 then return holder end
end
