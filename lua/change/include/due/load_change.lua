-- load_change(ctx, id): a change as it is now: with all that is due for it, by now, done. nil if there is none.
local function load_change(ctx, id)
  local own = read_change(id)
  if own and own.due_ms <= ctx.now then take_due(ctx, own) end
  return own
end
