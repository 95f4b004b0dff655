-- remember(at_ms, verb, text): leave a text for a minute, in case this call is sent again.
local function remember(at_ms, verb, text)
  redis.call('SET', answers .. rid, string.format('%.0f %s %s', at_ms + WAIT_rid_ms, verb, text))
  expire_in(answers .. rid, WAIT_rid_ms)
end
