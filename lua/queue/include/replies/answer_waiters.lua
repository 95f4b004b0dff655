-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function answer_waiters(ctx, id, how, value)
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or DEFAULT_reply_ms)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
end
