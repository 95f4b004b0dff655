-- mend_lines(ctx): look at lines whose limit was full a minute ago, 25 of them, though the end of a lease opens them. Holders without
-- a lease, as an evicting server leaves them, are forgotten, and so is who is not blocked, as older versions of these scripts left it.
local function mend_lines(ctx)
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
