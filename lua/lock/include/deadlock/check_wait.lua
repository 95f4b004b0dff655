-- check_wait(ctx, rid, begun): search again for cycles with this waiter. begun: an earlier call's search to continue.
-- Returns what was ended; false if nothing had to be; nil if its agent was searched a short while ago. The second
-- value: the search, if it was too long for this call.
local function check_wait(ctx, rid, begun)
  local request = live_request(ctx, rid)
  if not request or request.order == '-' then return nil end -- an earlier check in this call has ended or granted this request
  local turn = 'detect ' .. request.agent
  local turn_us = not begun and tonumber(redis.call('ZSCORE', rates, turn) or 0) or 0
  if turn_us > ctx.now * 1000 then
    redis.call('ZADD', unchecked, math.ceil(turn_us / 1000), rid)
    return nil
  end
  if not begun then redis.call('ZADD', rates, (ctx.now + WAIT_detect_ms) * 1000, turn) end
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  ctx.lines = nil
  local place = request.order
  request.order = begun and begun.order or place
  if begun then begun.todo[1] = { owner = request.owner, depth = 0 } end
  local found = find_place(ctx, request, place, begun)
  local sure = not (found and found.saved) or still_waits(ctx, request, found)
  if request.unchecked or sure == nil then
    local state = found or request.search
    if state.short and state.short == state.short_at then
      redis.call('ZADD', unchecked, ctx.now + WAIT_detect_ms, rid) -- it is more than this call may look at
      redis.call('UNLINK', saved)
    else
      save_search(rid, request, state, place)
    end
    request.order = place
    link_request(ctx, rid, request)
    return nil, state
  end
  if found then request.order = place end
  -- the waiter may be in another cycle, and newer waiters may now wait for it at its new place
  redis.call('ZREM', unchecked, rid)
  if found or begun and request.order ~= place then redis.call('ZADD', unchecked, ctx.now, rid) end
  if not found and not find_obstacle(ctx, request, request.order) then
    hand_over(ctx, rid, request)
    promote_freed(ctx)
    return false
  end
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  if request.order ~= place then emit_lock_event(ctx, 'lock.queued', rid, request, ' reason=moved') end
  if not found or not sure then return false end
  local circle, victim = break_cycle(ctx, request, found)
  if not victim then
    end_deadlock(ctx, rid, request, circle)
    promote_freed(ctx)
  end
  return { 'deadlock', victim or rid, circle }
end
