-- joined_locks(own, domain, rid): the first resource of a change, if this request, of the run before, still holds its locks; or nil. The
-- owner of both is the change, so the locks of a new request join them, with the same fences.
-- USES lock
local function joined_locks(own, domain, rid)
  if not lock.live_request(domain, rid) or tonumber(redis.call('ZSCORE', lock.deadlines, rid)) <= domain.now then return nil end
  return string.match(text_of(own, 'resources'), '^[^,]+')
end
