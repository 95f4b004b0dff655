-- run_deadline(ctx, own, lease, left): until when the lease of a run lasts: not longer than the run may take, and a grace; and not longer
-- than its locks, which end after `left` ms, or nil.
local function run_deadline(ctx, own, lease, left)
  local ms = lease > 0 and lease or ctx.settings.lease_ms
  if left then ms = math.min(ms, left) end
  return math.min(ctx.now + ms, number_of(own, 'started_ms') + number_of(own, 'run_ms') + WAIT_run_grace_ms)
end
