-- reclaim_tasks(ctx, given): the answer to a repeated claim: the tasks of the first answer that still have the same
-- token.
local function reclaim_tasks(ctx, given)
  local leased, index, deadline_ms = {}, 0, ctx.now + ctx.lease_ms
  for id in string.gmatch(given, '%S+') do
    index = index + 1
    local lease = read_lease(redis.call('HGET', running, id))
    if lease and lease.token == incarnation .. '.' .. slot .. '.' .. n .. '/' .. index then
      local record, _, _, _, _, _, _, _, stored = read_task(id)
      if stored then add_steps(record, id, stored) end
      leased[#leased + 1] = { 'leased', id, lease.token, lease.fence, lease.attempt, lease.delivery, '', record }
      deadline_ms = tonumber(redis.call('ZSCORE', leases, id) or deadline_ms)
    end
  end
  if ctx.settings.timeout_ms > 0 and leased[1] then give_timeout(ctx, leased) end
  add_payloads(leased)
  return deadline_ms, leased
end
