-- chains_on_drop(ctx, id): tell the tasks that wait for this one that it has failed.
-- WHEN ctx.settings.chains
local function chains_on_drop(ctx, id)
  if redis.call('EXISTS', dependents .. id) == 1 then note_end(ctx, 'f', id) end
end
