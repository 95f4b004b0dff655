-- take_others(ctx, limit): do what is due for other changes, at most limit of them. Returns how many.
local function take_others(ctx, limit)
  local ids = redis.call('ZRANGE', due, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    local own = read_change(id)
    if own then
      take_due(ctx, own)
      save_change(ctx, own)
    else
      redis.call('ZREM', due, id)
    end
  end
  return #ids
end
