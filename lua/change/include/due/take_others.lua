-- take_others(ctx, limit): do what is due for other changes, at most limit of them, fewer where it has to compare much. Returns how many.
-- An entry that its record does not confirm is damage: it is mended, or it would be looked at for ever.
local function take_others(ctx, limit)
  local ids = redis.call('ZRANGE', due, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  for i, id in ipairs(ids) do  -- at most 100: limit
    if looked_enough(ctx) then return i - 1 end
    local own = read_change(id)
    if own and own.due_ms <= ctx.now then
      take_due(ctx, own)
      save_change(ctx, own)
    elseif own and own.due_ms < MAX_SAFE then
      redis.call('ZADD', due, own.due_ms, id)
    else
      redis.call('ZREM', due, id)
    end
  end
  return #ids
end
