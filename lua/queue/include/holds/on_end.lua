-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own)
  if own.expires_at_ms or own.fallback_after_ms then redis.call('ZREM', deadlines, id) end
  if not (own.unique or own.scope) then return end
  local unique, scope = 'unique:' .. (own.unique or ''), 'scope:' .. (own.scope or '')
  local held = redis.call('HMGET', once, unique, scope)
  if held[1] == id then redis.call('HDEL', once, unique, held[2] == id and scope or unique) return end
  if held[2] == id then redis.call('HDEL', once, scope) end
end
