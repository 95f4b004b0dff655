-- restore_task(ctx, id, record, score): put a task that is in no set where its record says; score: its place in line, where
-- a lease knows it. The state that it has then.
local function restore_task(ctx, id, record, score)
  restore_indexes(id, record)
  local how = ended_how(record)
  if how then return restore_end(ctx, id, record, how) end
  return restore_wait(ctx, id, record, score)
end
