-- set_record(ctx, rid, text): change the record of a request in memory. close_domain stores it.
-- LATE
local function set_record(ctx, rid, text)
  ctx.texts[rid] = text
  ctx.changed = ctx.changed or {}
  ctx.changed[rid] = true
end
