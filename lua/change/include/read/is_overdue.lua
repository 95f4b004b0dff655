-- is_overdue(ctx, own): whether the review of this change is over by time, although no call has noted it yet. An escalation that is still
-- to come gives it more time.
local function is_overdue(ctx, own)
  if own.state ~= 'submitted' and own.state ~= 'reviewing' or own.timeout_at_ms > ctx.now then return false end
  return not (own.state == 'reviewing' and own.escalate_at_ms > 0 and own.escalate_at_ms <= own.timeout_at_ms and next_asked(own))
end
