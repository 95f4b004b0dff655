-- describe(rid, request): the answer of `list` and `show` for a live request. Holders have place 0.
local function describe(rid, request)
  local waits = request.order ~= '-'
  return { 'found', rid, waits and 'waiting' or request.state, request.owner, request.agent, tonumber(request.priority),
    tonumber(request.since_ms), tonumber(request.born_ms), tonumber(request.ttl_ms), tonumber(request.until_ms),
    tonumber(request.granted_ms), tonumber(redis.call('ZSCORE', deadlines, rid) or 0), place_of(request),
    parts_text(request), request.purpose }
end
