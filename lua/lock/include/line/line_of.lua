-- line_of(ctx, resource): what was read of the holders and waiters of a resource, until they change (link_request,
-- note_freed). `holds`: how many; `code` and `by`: mode and owner of the strongest hold; `first`: the place of the
-- first waiter; once `read`, `alone`: the place of the first waiter that does not share, and `last`: that of the 64th.
-- false: there is none; nil: not read yet.
local function line_of(ctx, resource)
  ctx.lines = ctx.lines or {}
  ctx.lines[resource] = ctx.lines[resource] or {}
  if ctx.looks then ctx.looks = ctx.looks - 1 end
  return ctx.lines[resource]
end
