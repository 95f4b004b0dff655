-- recall(at_ms): what a call with this rid left in the last minute: its verb, and a text; or nil.
local function recall(at_ms)
  local until_ms, verb, text = string.match(redis.call('GET', answers .. rid) or '', '^(%d+) (%S+) (%S*)$')
  if until_ms and tonumber(until_ms) > at_ms then return verb, text end
end
