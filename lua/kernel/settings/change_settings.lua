-- change_settings(ctx, clock, changes): store these settings, the pairs of a call, and create the base if there is none.
local function change_settings(ctx, clock, changes)
  if not ctx.exists then create_base(ctx.settings.clock or clock) end  -- a base that has lost its layout keeps its clock
  if #changes > 0 then redis.call('HSET', config, unpack(changes)) end  -- at most 100: two for each setting
end
