-- limits_on_housekeep(ctx): forget rates that let a full burst start by now, 100 of them. Then look at 25 lines whose limit was
-- full a minute ago, although the end of a lease opens them: holders without a lease, as an evicting server leaves them, are
-- forgotten, and so are tasks that are not blocked, as older versions of these scripts left them.
-- WHEN ctx.settings.limits > 0
local function limits_on_housekeep(ctx)
  local over = redis.call('ZRANGE', rates, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100)
  if #over > 0 then redis.call('ZREM', rates, unpack(over)) end  -- at most 100: as read above
  local keys = redis.call('ZRANGE', limit_lines, BAND, BAND + ctx.now - 60000, 'BYSCORE', 'LIMIT', 0, 25)
  for _, key in ipairs(keys) do
    mend_holders(ctx, key)
    local ids = redis.call('ZRANGE', waiting .. key, 0, 99)
    local scores = ids[1] and redis.call('ZMSCORE', blocked, unpack(ids)) or {}  -- at most 100: a page
    for i, id in ipairs(ids) do
      if not scores[i] then redis.call('ZREM', waiting .. key, id) end
    end
  end
  if keys[1] then drain_limit_queues(ctx, keys) end
end
