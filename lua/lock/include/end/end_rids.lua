-- end_rids(ctx, rids, work): end requests whose deadline has come: all of them first, so that none gets what another
-- one leaves. Then the next waiters have their turn. Returns how many were ended. work: how many locks, and a little
-- more, it may handle.
local function end_rids(ctx, rids, work)
  local count = 0
  for _, rid in ipairs(rids) do
    if work <= 0 then break end
    local resource, from = string.match(rid, '^promote (%S+) ?(%S*)$')
    local request = not resource and live_request(ctx, rid)
    if resource then
      redis.call('ZREM', deadlines, rid)
      note_line(ctx, resource, false, from)
    elseif request and request.order ~= '-' then
      end_wait(ctx, rid, request)
    elseif request then
      end_request(ctx, rid, request, 'expired', 'lock.expired', '')
    else
      redis.call('ZREM', deadlines, rid) -- the request no longer exists
    end
    count, work = count + 1, work - 4 - (request and #request.parts or 0)
  end
  promote_freed(ctx)
  return count
end
