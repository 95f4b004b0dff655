-- raise_fence(ctx, least): make the last fence at least this, if the base exists; it is never lowered. Returns the answer.
local function raise_fence(ctx, least)
  if not ctx.exists then return { 'kept', ctx.now, 0 } end
  if ctx.settings.fence >= least then return { 'kept', ctx.now, ctx.settings.fence } end
  redis.call('HSET', config, 'fence', least)
  return { 'raised', ctx.now, least }
end
