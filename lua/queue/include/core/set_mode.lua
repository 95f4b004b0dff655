-- set_mode(ctx, mode, event): make a queue run, pause or drain; once for each rid.
local function set_mode(ctx, mode, event)
  if done_before(ctx, mode) then return end
  if not ctx.exists then create_base() end
  note_done(ctx, mode, 'done')
  ctx.mode = mode
  if (redis.call('HGET', config, 'mode') or 'running') == mode then return end
  redis.call('HSET', config, 'mode', mode)
  emit(ctx, event, '-', '')
end
