-- write_record(id, stamp, ctx, own, size): write the record of a new task: its pairs, the tier of the queue, source and trace
-- of the call unless the task has its own source, and `ties` if it needs more than usual at its first lease, its return or
-- its end. ctx.restricted: whether a new task is: then events do not name the source. If an older task of this id left a
-- stub, its settlement stays known as `settled_earlier`, and so do the last eight calls that enqueued it. A link of another
-- family (shorten_family) is no longer one.
-- EARLY
local function write_record(id, stamp, ctx, own, size)
  local key, tier = task .. id, ctx.settings.tier
  local old = ctx.some_known and redis.call('HMGET', key, 'gone', 'rid', 'earlier', 'settled', 'link')
  if old and old[5] then
    redis.call('HDEL', key, 'link', 'pruned')
    redis.call('ZREM', children .. old[5], id)
    shorten_family(ctx, old[5])
  end
  -- each once: plain items share a table
  if tier ~= 'internal' and not own.tier then own.tier, own[#own + 1], own[#own + 2] = tier, 'tier', tier end
  if source ~= '' and not own.source then own.source, own[#own + 1], own[#own + 2] = source, 'source', source end
  ctx.restricted = ctx.restricted or own.tier == 'restricted'
  if trace ~= '' and not own.trace then own.trace, own[#own + 1], own[#own + 2] = trace, 'trace', trace end
  if own.unique or own.scope or own.ordering_key or own.fallback_after_ms or own.expires_at_ms or own.timeout_ms or own.result_ms or own.reply
    or own.gathered then
    own[#own + 1] = 'ties'  -- one by one: in one statement Lua would fill from the right
    own[#own + 1] = '1'
  end
  -- at most 80: two for each pair of an item
  if size > 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, 'size', size, unpack(own)) end
  if size <= 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, unpack(own)) end
  if old and old[1] then
    local calls = string.match(old[2] .. ' ' .. (old[3] or ''), '^' .. string.rep('%S* ?', 8))
    redis.call('HSET', key, 'earlier', calls)
    redis.call('HDEL', key, 'gone', 'settled')
    if old[4] then redis.call('HSET', key, 'settled_earlier', old[4]) end
    redis.call('PERSIST', key)
  end
end
