-- ended_how(record): how a task ended, if its record proves it: completed, result_dropped, cancelled or dead; else nil.
-- If no worker reported the failure, the reason proves it, unless it could be the custom reason of an earlier failed
-- run.
local function ended_how(record)
  if record.cancelled_ms then return 'cancelled' end
  local how = string.match(record.settled or '', '^%S+ (%S+)')
  if how == 'completed' or how == 'result_dropped' or how == 'cancelled' then return how end
  local ours = { expired = true, nobody_came = true, after_failed = true, limited = true }
  local reason = record.reason
  local died = how == 'dead' or reason == 'crash_loop' or reason == 'damaged' or not record.attempts and ours[reason]
  return reason and died and 'dead' or nil
end
