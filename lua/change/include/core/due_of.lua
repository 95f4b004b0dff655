-- due_of(own): the earliest deadline of a change (ms), or MAX_SAFE.
-- EARLY
local function due_of(own)
  if own.state == 'applying' then return own.deadline_ms end
  if own.state == 'approved' then return own.until_ms end
  if own.state == 'submitted' then return own.timeout_at_ms end
  if own.state ~= 'reviewing' then return MAX_SAFE end
  local first = own.timeout_at_ms
  if own.escalate_at_ms > 0 then first = math.min(first, own.escalate_at_ms) end
  if own.remind_at_ms > 0 then first = math.min(first, own.remind_at_ms) end
  return first
end
