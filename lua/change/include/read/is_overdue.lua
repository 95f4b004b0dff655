-- is_overdue(ctx, own): whether the review of this change is over by time, although no call has noted it yet.
local function is_overdue(ctx, own)
  if own.state ~= 'submitted' and own.state ~= 'reviewing' then return false end
  if own.state == 'reviewing' and own.escalate_at_ms > 0 and own.escalate_at_ms <= own.timeout_at_ms then return false end
  return own.timeout_at_ms <= ctx.now
end
