-- is_valid(ctx, not_before, row): whether a session is valid. not_before: that of its user. row: its user, born_us, active_ms, idle_ms and
-- ends_ms, as they are stored, if it is stored.
local function is_valid(ctx, not_before, row)
  return row[1] and tonumber(row[2]) > not_before and ctx.now < row[3] + row[4] and ctx.now < tonumber(row[5])
end
