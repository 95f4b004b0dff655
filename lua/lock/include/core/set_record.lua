-- set_record(ctx, rid, text): note the record of a request, for the rest of this call and for close_domain, which
-- stores it.
-- LATE
local function set_record(ctx, rid, text)
  ctx.texts[rid] = text
  ctx.changed = ctx.changed or {}
  ctx.changed[rid] = true
end
