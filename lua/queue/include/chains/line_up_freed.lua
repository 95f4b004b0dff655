-- line_up_freed(ctx, batch): put the tasks that no longer wait for others into their lanes.
local function line_up_freed(ctx, batch)
  if not batch.freed[1] then return end
  make_ready(ctx, batch.by_lane)
  for first = 1, #batch.freed, 1000 do
    emit(ctx, 'task.unblocked', table.concat(batch.freed, ' ', first, math.min(first + 999, #batch.freed)), '')
  end
  batch.by_lane, batch.freed = {}, {}
end
