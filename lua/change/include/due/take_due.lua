-- take_due(ctx, own): do what is due for this change by now. An escalation that comes late comes before the timeout, and still gives
-- everybody a full interval: so the answer does not depend on when somebody looked.
local function take_due(ctx, own)
  for _ = 1, 6 do  -- at most 6: the end of a lease, that of an approval, three escalations, a timeout
    if due_of(own) > ctx.now then return end
    if own.state == 'applying' then
      end_lease(ctx, own)
    elseif own.state == 'approved' then
      set_field(own, 'risk_rev', 0)
      set_field(own, 'preview_rev', 0)
      open_round(ctx, own, 'time', 'approval_ended')
    elseif own.state == 'reviewing' and own.escalate_at_ms > 0 and own.escalate_at_ms <= math.min(own.timeout_at_ms, ctx.now) then
      escalate(ctx, own, 'time')
    elseif own.timeout_at_ms <= ctx.now then
      time_out(ctx, own)
    else
      set_field(own, 'remind_at_ms', ctx.now + number_of(own, 'p_remind_ms'))
      record_step(ctx, own, 'change.reminded', 'time', '', '')
    end
  end
end
