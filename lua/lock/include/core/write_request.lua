-- write_request(ctx, rid, request): note the record of a live request; read_request reads it.
local function write_request(ctx, rid, request)
  set_record(ctx, rid, string.format('%s %s %s %.0f %.0f %.0f %.0f %.0f %s %.0f ', request.state, request.owner,
    request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms, request.until_ms, request.order,
    request.granted_ms) .. parts_text(request) .. ' ' .. request.purpose)
end
