-- open_round(ctx, own, by, why): begin a new round of review: all answers are void, and all requests are open again. The change is
-- reviewing, or first submitted, if its policy needs a risk or a preview of this revision.
local function open_round(ctx, own, by, why)
  if own.state == 'reviewing' then leave_inboxes(own) end
  set_field(own, 'round', own.round + 1)
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  set_field(own, 'decided_by', '')
  open_requests(ctx, own)
  record_step(ctx, own, 'change.outdated', by, 'why=' .. why, '')
  local state = is_assessed(ctx, own) and 'reviewing' or 'submitted'
  if state ~= own.state then move_to(ctx, own, state) end
  if state == 'reviewing' then open_review(ctx, own, by) end
end
