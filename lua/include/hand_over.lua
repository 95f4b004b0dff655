-- hand_over(conf, rid, request): make a waiter a holder. It has a short time to claim what it was handed. Those behind
-- it may follow it, in every line where it stood, but for what it has alone.
local function hand_over(conf, rid, request)
  read_rules(conf)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  forget_search(conf, rid)
  grant(conf, rid, request, 'granted', conf.now + conf.claim_ms)
  tell(conf, 'lock.promoted', rid, request, '')
  for i, part in ipairs(request.parts) do
    if part.code ~= 'x' and (i > 1 or request.parts[2]) then note_line(conf, part.resource, part.code == 's') end
  end
end
