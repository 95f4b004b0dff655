-- comment(ctx, own, reason): leave a comment in the log. The last hundred places there are for steps.
local function comment(ctx, own, reason)
  if redis.call('XLEN', logs .. own.id) >= 900 then return { 'full' } end
  record_step(ctx, own, 'change.commented', actor, '', reason)
  return { 'commented' }
end
