-- approve(ctx, own, by, why): the change is approved, for a time.
local function approve(ctx, own, by, why)
  move_to(ctx, own, 'approved')
  set_field(own, 'approved_ms', ctx.now)
  set_field(own, 'decided_by', by)
  set_field(own, 'until_ms', ctx.now + number_of(own, 'p_approval_ms'))
  set_field(own, 'attempts', 0)
  set_field(own, 'token', '')
  record_step(ctx, own, 'change.approved', by, '', why)
end
