-- is_here(own): whether this partition has what keeps a task here that belongs to another by now: one of its ordering key that
-- has not ended; or, without such a key, its parent, or one that it waits for.
local function is_here(own)
  if own.ordering_key then return redis.call('EXISTS', order .. own.ordering_key) == 1 end
  local other = own.parent or own.after and own.after[1]
  return other and redis.call('HEXISTS', task .. other, 'created_ms') == 1
end
