-- revive_task(ctx, id, unique, scope): give a dead task a new start: remove it from `dead`, reset its attempts and
-- crashes, and store its unique key and scope again.
-- EARLY
local function revive_task(ctx, id, unique, scope)
  redis.call('ZREM', dead, id)
  redis.call('HDEL', task .. id, 'attempts', 'crashes', 'expires_at_ms', 'reason', 'error', 'exit_code',
    'progress_ppm', 'progress_text', 'limited_by')  -- which older versions of these scripts left
  if unique then hold_once(ctx, 'unique:' .. unique, id) end
  if scope then hold_once(ctx, 'scope:' .. scope, id) end
end
