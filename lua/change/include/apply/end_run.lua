-- end_run(ctx, own, by, how, why): a run is over: completed, failed, cancelled, or to be tried again (retry) if attempts are left.
local function end_run(ctx, own, by, how, why)
  local cancelled = text_of(own, 'cancelling') == '1'
  set_field(own, 'cancelling', '0')
  set_field(own, 'ended_ms', ctx.now)
  if how == 'retry' and cancelled then how = 'cancelled' end
  if how == 'retry' and number_of(own, 'attempts') >= number_of(own, 'p_max_attempts') then how = 'failed' end
  set_field(own, 'why', why)
  if how == 'retry' then
    move_to(ctx, own, 'approved')
    record_step(ctx, own, 'change.released', by, 'why=' .. why, '')
  else
    move_to(ctx, own, how)
    if how == 'completed' then record_step(ctx, own, 'change.completed', by, '', '') end
    if how == 'failed' then record_step(ctx, own, 'change.failed', by, 'why=' .. why, '') end
    if how == 'cancelled' then record_step(ctx, own, 'change.cancelled', by, 'why=' .. why, '') end
  end
end
