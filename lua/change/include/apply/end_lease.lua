-- end_lease(ctx, own): the lease of an applier is over. After the time of the run the change has failed; else it may be begun again,
-- while attempts are left and nobody has cancelled it.
local function end_lease(ctx, own)
  local late = own.deadline_ms >= number_of(own, 'started_ms') + number_of(own, 'run_ms') + WAIT_run_grace_ms
  set_field(own, 'attempts', number_of(own, 'attempts') + 1)
  end_run(ctx, own, 'time', late and 'failed' or 'retry', late and 'timeout' or 'lost')
end
