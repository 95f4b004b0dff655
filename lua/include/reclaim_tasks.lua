-- reclaim_tasks(conf, given): answer a re-sent claim: of the tasks it was given, those still under the same token.
-- NEEDS running leases incarnation slot n read_lease read_task lease_reply
local function reclaim_tasks(conf, given)
  local ids, tokens, fences, attempts, deliveries, records = {}, {}, {}, {}, {}, {}
  local call, deadline_ms, index = incarnation .. '.' .. slot .. '.' .. n, conf.now + conf.lease_ms, 0
  for id in string.gmatch(given, '%S+') do
    index = index + 1
    local lease = read_lease(redis.call('HGET', running, id))
    if lease and lease.token == call .. '/' .. index then
      local at = #ids + 1
      ids[at], tokens[at], attempts[at], deliveries[at] = id, lease.token, lease.attempt, lease.delivery
      fences[at] = lease.fence
      records[at] = read_task(id)
      deadline_ms = tonumber(redis.call('ZSCORE', leases, id))
    end
  end
  return deadline_ms, lease_reply(ids, tokens, fences, attempts, deliveries, records)
end
