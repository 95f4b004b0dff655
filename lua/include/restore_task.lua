-- restore_task(conf, id, record, score, tally): put a task that is in no set where its record says; score: its place in line, where
-- a lease knows it. The state that it has then.
local function restore_task(conf, id, record, score, tally)
  restore_indexes(id, record)
  local how = ended_how(record)
  if how then return restore_end(conf, id, record, how, tally) end
  return restore_wait(conf, id, record, score)
end
