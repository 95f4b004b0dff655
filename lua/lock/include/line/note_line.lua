-- note_line(ctx, resource, shared, from): somebody in line for it, behind that place, may have a turn now: for
-- promote_freed to look at, once. shared: who has gone shared it, or would have. `gone` counts those; any other
-- counts for all that may pass others.
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
