-- end_rids(conf, rids): end requests whose deadline has come: all of them first, for none may be granted what another
-- leaves. Then the next in line have their turn.
-- NEEDS deadlines note_line record_of live_request end_wait end_request promote_freed
local function end_rids(conf, rids)
  for _, rid in ipairs(rids) do
    local resource = string.match(rid, '^promote (.*)$')
    local request = not resource and live_request(conf, rid)
    if resource then
      redis.call('ZREM', deadlines, rid)
      note_line(conf, resource)
    elseif request and request.order ~= '-' then
      end_wait(conf, rid, request)
    elseif request then
      end_request(conf, rid, request, 'expired', 'lock.expired', '')
    elseif not record_of(conf, rid) then
      redis.call('ZREM', deadlines, rid) -- of something that is not there
    end
  end
  promote_freed(conf)
end
