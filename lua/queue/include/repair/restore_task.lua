-- restore_task(ctx, id, record, score): put a task that is in no set where its record says. score: its old score, if
-- its lease knows it. Returns the state.
local function restore_task(ctx, id, record, score)
  restore_indexes(id, record)
  local how = ended_how(record)
  if how then return restore_end(ctx, id, record, how) end
  return restore_wait(ctx, id, record, score)
end
