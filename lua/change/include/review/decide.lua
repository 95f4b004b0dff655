-- decide(ctx, own, by): decide a review whose answers have changed, if they are enough. If the quorum cannot be reached any more, the
-- next level of escalation is asked; without one, the change is rejected. Returns what was decided, or nil.
local function decide(ctx, own, by)
  local counts = count_slots(own)
  if number_of(own, 'p_rejections') > 0 and counts.rejected >= number_of(own, 'p_rejections') then
    reject(ctx, own, by, 'rejections')
    return 'rejected'
  end
  if counts.approved >= number_of(own, 'p_required') and counts.changes_requested == 0 then
    approve(ctx, own, by, '')
    return 'approved'
  end
  if counts.approved + counts.pending + counts.changes_requested < number_of(own, 'p_required') and not escalate(ctx, own, by) then
    reject(ctx, own, by, 'unreachable')
    return 'rejected'
  end
end
