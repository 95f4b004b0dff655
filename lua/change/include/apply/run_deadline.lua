-- run_deadline(ctx, own, lease): until when the lease of a run lasts: not longer than the run may take, and a grace.
local function run_deadline(ctx, own, lease)
  return math.min(ctx.now + (lease > 0 and lease or ctx.settings.lease_ms), own.started_ms + own.run_ms + WAIT_run_grace_ms)
end
