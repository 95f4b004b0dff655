-- is_here(own): whether a task that belongs to another partition by now has to stay here: another task of its ordering
-- key has not ended here; or, without such a key, its parent is here, or a task that it waits for.
local function is_here(own)
  if own.ordering_key then return redis.call('EXISTS', order .. own.ordering_key) == 1 end
  local other = own.parent or own.after and own.after[1]
  return other and redis.call('HEXISTS', task .. other, 'created_ms') == 1
end
