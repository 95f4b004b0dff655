-- write_limits(ctx): store what this claim has found out about limits so far: which tasks hold them, and which wait.
local function write_limits(ctx)
  for key, rows in pairs(ctx.holds) do redis.call('ZADD', holding .. key, unpack(rows)) end  -- at most 2,000: two for each lease
  ctx.holds = {}
  if ctx.joins[1] then write_joins(ctx, true) end
end
