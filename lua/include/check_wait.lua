-- check_wait(conf, rid): search again for circles that a waiter is part of. What was ended for it; false if nothing
-- had to be; nil if its agent has had its turn a short while ago.
-- NEEDS graph unchecked rates live_request members_of link_request write_request find_place find_obstacle hand_over tell
-- NEEDS break_circle end_deadlock promote_freed
local function check_wait(conf, rid)
  local request = live_request(conf, rid)
  if not request or request.order == '-' then return nil end -- an earlier one of this call has seen to it
  local turn = 'detect ' .. request.agent
  local turn_us = tonumber(redis.call('ZSCORE', rates, turn) or 0)
  if turn_us > conf.now * 1000 then
    redis.call('ZADD', unchecked, math.ceil(turn_us / 1000), rid)
    return nil
  end
  redis.call('ZADD', rates, (conf.now + WAIT_detect_ms) * 1000, turn)
  redis.call('ZREM', unchecked, rid)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  local place = request.order
  local search = find_place(conf, request, place)
  if search then request.order = place end
  if not search and not find_obstacle(conf, request, request.order) then
    hand_over(conf, rid, request)
    promote_freed(conf)
  else
    link_request(rid, request)
    write_request(conf, rid, request)
    if request.unchecked then redis.call('ZADD', unchecked, conf.now, rid) end
    if request.order ~= place then tell(conf, 'lock.queued', rid, request, ' reason=moved') end
  end
  if not search then return false end
  local circle, victim = break_circle(conf, request, search)
  if not victim then
    end_deadlock(conf, rid, request, circle)
    promote_freed(conf)
  end
  return { 'deadlock', victim or rid, circle }
end
