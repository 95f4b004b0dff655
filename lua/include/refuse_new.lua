-- refuse_new(conf, ids, envelopes, stamps): the error of a queue that is being drained, unless no task of the call is new.
-- NEEDS known_as find_twin
local function refuse_new(conf, ids, envelopes, stamps)
  local seen = {}
  for i, id in ipairs(ids) do
    if not seen[id] and not known_as(id, stamps[i]) and not find_twin(conf, envelopes[i], stamps[i]) then
      return redis.error_reply('ADEQ_DRAINING this queue is being drained and takes no new tasks: resume it, or use another')
    end
    seen[id] = true
  end
end
