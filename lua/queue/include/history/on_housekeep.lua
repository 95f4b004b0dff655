-- history_on_housekeep(ctx): take the snapshot of this minute, if there is none yet. One that is an hour ahead is of a clock that was set back.
-- WHEN ctx.now >= ctx.history_ms + 60000 or ctx.now < ctx.history_ms - 3600000
local function history_on_housekeep(ctx)
  take_snapshot(ctx)
end
