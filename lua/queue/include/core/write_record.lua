-- write_record(id, stamp, ctx, own, size): write the record of a new task. `ties` marks a task that needs more than
-- usual at its first lease, its return or its end. If an older task of this id left a stub, its settlement stays known
-- as `settled_earlier`, and so do the last eight calls that enqueued it. `source` is the task's own, or that of the
-- call. A link of another family (shorten_family) is no longer one.
-- EARLY
local function write_record(id, stamp, ctx, own, size)
  local key = task .. id
  local old = ctx.some_known and redis.call('HMGET', key, 'gone', 'rid', 'earlier', 'settled', 'link') or {}
  if old[5] then
    redis.call('HDEL', key, 'link', 'pruned')
    redis.call('ZREM', children .. old[5], id)
    shorten_family(ctx, old[5])
  end
  if not own.tier and ctx.settings.tier ~= 'internal' then
    own.tier, own[#own + 1], own[#own + 2] = ctx.settings.tier, 'tier', ctx.settings.tier  -- once: plain items share a table
  end
  if source == '' then
    redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, unpack(own))  -- at most 80: two for each pair of an item
  else
    redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, 'source', source, unpack(own)) -- at most 80: likewise; the last source counts
  end
  if size > 1024 then redis.call('HSET', key, 'size', size) end
  if trace ~= '' then redis.call('HSET', key, 'trace', trace) end
  if own.unique or own.scope or own.ordering_key or own.fallback_after_ms or own.expires_at_ms or own.timeout_ms or own.result_ms or own.reply
    or own.gathered then
    redis.call('HSET', key, 'ties', '1')
  end
  if old[1] then
    local calls = string.match(old[2] .. ' ' .. (old[3] or ''), '^' .. string.rep('%S* ?', 8))
    redis.call('HSET', key, 'earlier', calls)
    redis.call('HDEL', key, 'gone', 'settled')
    if old[4] then redis.call('HSET', key, 'settled_earlier', old[4]) end
    redis.call('PERSIST', key)
  end
end
