-- is_valid(ctx, user, not_before, row): whether a session of a user is valid. row: its user, born_us, active_ms, idle_ms and ends_ms, as
-- they are stored.
local function is_valid(ctx, user, not_before, row)
  return row[1] == user and tonumber(row[2]) > not_before and ctx.now < row[3] + row[4] and ctx.now < tonumber(row[5])
end
