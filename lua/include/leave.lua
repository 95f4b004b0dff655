-- leave(conf, rid): end a request because its client says so. `released` or `cancelled`; of one that has ended: how;
-- nil if it is not known.
-- LATE
local function leave(conf, rid)
  local request = live_request(conf, rid)
  if not request then return string.match(record_of(conf, rid) or '', '^ended (%S+)') end
  if request.order ~= '-' then
    end_request(conf, rid, request, 'cancelled', 'lock.cancelled', ' reason=cancelled')
    return 'cancelled'
  end
  end_request(conf, rid, request, 'released', 'lock.released', '')
  return 'released'
end
