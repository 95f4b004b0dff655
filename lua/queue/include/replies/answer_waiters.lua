-- answer_waiters(ctx, id, how, value): leave word of how a task ended for those who wait for it, and tell them. Past its time
-- it is not shown; the server deletes it later, by its own clock.
-- EARLY
local function answer_waiters(ctx, id, how, value)
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or DEFAULT_reply_ms)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
end
