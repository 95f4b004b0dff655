-- note_freed(ctx, request): note the lines of a request that leaves, and the owners whose own waits may have lost a
-- hold that they depend on.
local function note_freed(ctx, request)
  for _, part in ipairs(request.parts) do
    note_line(ctx, part.resource, part.code == 's')
    if ctx.lines then ctx.lines[part.resource] = nil end
  end
  if request.order == '-' then
    ctx.losers = ctx.losers or {}
    ctx.losers[request.owner] = true
  end
end
