-- join_order(id, own, place): put a new task at the end of the line of its ordering key. Behind others it waits for its turn,
-- which comes when it is the first.
local function join_order(id, own, place)
  local line = order .. own.ordering_key
  own.behind = redis.call('EXISTS', line) == 1
  redis.call('ZADD', line, place, id)
  if own.behind then own[#own + 1], own[#own + 2] = 'after_when', 'ended' end
end
