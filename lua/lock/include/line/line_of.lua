-- line_of(ctx, resource): what was read of the holders and waiters of a resource, for the rest of the call, or until they
-- change (link_request, note_freed): `holds`, how many there are; `code` and `by`, the mode and owner of the strongest;
-- `first`, the place of the first waiter; once `read`, `alone`, that of the first who would not share, and `last`, that of the
-- 64th. What there is not is false, what was not read is nil.
local function line_of(ctx, resource)
  ctx.lines = ctx.lines or {}
  ctx.lines[resource] = ctx.lines[resource] or {}
  if ctx.looks then ctx.looks = ctx.looks - 1 end
  return ctx.lines[resource]
end
