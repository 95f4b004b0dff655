-- history_on_housekeep(ctx): take the snapshot of this minute, if there is none yet.
-- WHEN ctx.now >= ctx.history_ms + 60000
local function history_on_housekeep(ctx)
  take_snapshot(ctx)
end
