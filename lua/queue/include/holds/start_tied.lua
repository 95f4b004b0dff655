-- start_tied(ctx, id, record): at the first lease of a task with ties: delete its scope and its deadline. record: as
-- read_task reads it. Returns true if the task has expired.
local function start_tied(ctx, id, record)
  local scope, expires_at_ms, timer, leased
  for f = 1, #record, 2 do
    local name = record[f]
    if name == 'scope' then scope = 'scope:' .. record[f + 1]
    elseif name == 'expires_at_ms' then expires_at_ms = tonumber(record[f + 1])
    elseif name == 'fallback_after_ms' then timer = true
    elseif name == 'deliveries' then leased = true
    end
  end
  if timer or expires_at_ms then redis.call('ZREM', deadlines, id) end
  if scope and redis.call('HGET', once, scope) == id then redis.call('HDEL', once, scope) end
  return not leased and (expires_at_ms or MAX_SAFE) <= ctx.now
end
