-- time_out(ctx, own): nobody has decided in time: the change is rejected, unless its policy approves what is of low risk. It does not
-- approve what a reviewer has rejected or wants changed, in this review or in an earlier one, nor what a tag forbids it to approve.
local function time_out(ctx, own)
  local counts = count_slots(own)
  if own.state == 'reviewing' and text_of(own, 'p_on_timeout') == 'approve' and number_of(own, 'risk_rev') == own.rev
    and number_of(own, 'risk_score') < number_of(own, 'p_timeout_approve_below') and counts.rejected + counts.changes_requested == 0
    and not needs_people(own) then
    approve(ctx, own, 'policy:' .. text_of(own, 'policy'), 'timeout')
  else
    reject(ctx, own, 'time', 'timeout')
  end
end
