-- hold_keys(ctx, id, own, is_twin): store the keys of a task in `once`: the idempotency key for idempotency_ms, the
-- unique key and the scope until the task ends. is_twin: the task already existed; only the idempotency key is added.
local function hold_keys(ctx, id, own, is_twin)
  if own.idempotency_key then
    ctx.keep_ms = ctx.keep_ms or redis.call('HGET', config, 'idempotency_ms') or DEFAULT_idempotency_ms
    local row = is_twin and redis.call('HMGET', task .. id, 'idempotency_key', 'rid', 'keys') or {}
    local second = row[1] and row[1] ~= own.idempotency_key
    hold_once(ctx, 'key:' .. own.idempotency_key, id, ctx.keep_ms, second and row[2] or nil)
    if second then
      redis.call('HSET', task .. id, 'keys', string.format('%.0f', math.max(row[3] or 0, ctx.now + ctx.keep_ms)))
    elseif is_twin then
      redis.call('HSET', task .. id, 'idempotency_key', own.idempotency_key)
    end
  end
  if own.unique and not is_twin then hold_once(ctx, 'unique:' .. own.unique, id) end
  if own.scope and not is_twin then hold_once(ctx, 'scope:' .. own.scope, id) end
end
