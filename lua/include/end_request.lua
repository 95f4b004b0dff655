-- end_request(conf, rid, request, outcome, event, detail): take a request out of everything, and remember how it
-- ended.
-- LATE
local function end_request(conf, rid, request, outcome, event, detail)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  remember(conf, rid, outcome)
  if request.order ~= '-' then
    forget_search(conf, rid)
  end
  note_freed(conf, request)
  for _, part in ipairs(request.parts) do
    if request.order == '-' and permits_of(part.code) then use_permits(conf, part, -1) end
  end
  tell(conf, event, rid, request, detail)
end
