-- leave(ctx, rid): end a request for its client. Returns `released` or `cancelled`, or the earlier outcome if it had
-- already ended, or nil if it is unknown.
-- LATE
local function leave(ctx, rid)
  local request = live_request(ctx, rid)
  if not request then return string.match(record_of(ctx, rid) or '', '^ended (%S+)') end
  if request.order ~= '-' then
    end_request(ctx, rid, request, 'cancelled', 'lock.cancelled', ' reason=cancelled')
    return 'cancelled'
  end
  end_request(ctx, rid, request, 'released', 'lock.released', '')
  return 'released'
end
