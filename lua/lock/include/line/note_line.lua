-- note_line(ctx, resource, shared, from): note that waiters for a resource, behind that place, may have a turn now;
-- promote_freed looks at each line once. shared: the request that left shared it, or would have. `gone` counts those;
-- any other counts as 64.
local function note_line(ctx, resource, shared, from)
  ctx.freed, ctx.noted = ctx.freed or {}, ctx.noted or {}
  from = from or ''
  local noted = ctx.noted[resource]
  if not noted then
    noted = { resource = resource, gone = 0, from = from }
    ctx.freed[#ctx.freed + 1], ctx.noted[resource] = noted, noted
  end
  noted.gone = noted.gone + (shared and 1 or 64)
  if from < noted.from then noted.from = from end
end
