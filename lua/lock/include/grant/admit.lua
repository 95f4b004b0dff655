-- admit(ctx, rid, request): grant a new request, let it wait, or refuse it. Returns the status and its detail (the
-- second field of the reply).
-- LATE
local function admit(ctx, rid, request)
  read_rules(ctx)
  expire_nearby(ctx, request.parts)
  local covered = cover_parts(ctx, request)
  local refusal = unavailable(ctx, request)
  if refusal then
    remember(ctx, rid, 'unavailable ' .. refusal)
    return 'unavailable', refusal
  end
  local retry_ms = not covered and refuse_rate(ctx, request.agent)
  if retry_ms then return 'rate_limited', retry_ms end
  local seq = redis.call('HINCRBY', requests, '#seq', 1)
  local head_start = request.priority * ctx.step_ms
  local tail = string.format('%014.0f%012.0f', ctx.now + 9 * ctx.step_ms, seq)
  local upgrade = request.parts[1].depends_on ~= '' and not request.parts[2]
  local own = upgrade and string.format('%026.0f', seq)
    or string.format('%014.0f%012.0f', ctx.now + head_start, seq)
  local other = not covered and waits_as(request.owner)
  if other and (not is_idle(request) or find_obstacle(ctx, request, own)) then
    remember(ctx, rid, 'owner_waits ' .. other)
    return 'owner_waits', other
  end
  local circle, victim
  for round = 1, 5 do
    request.order = own -- after a victim was ended, try the place by priority again
    local waits = find_obstacle(ctx, request, own)
    if waits and request.until_ms == ctx.now then
      remember(ctx, rid, 'busy')
      return 'busy'
    end
    local search = waits and ctx.detection and find_place(ctx, request, tail)
    request.unchecked = request.unchecked or not ctx.detection
    if not search and request.order ~= own then waits = find_obstacle(ctx, request, request.order) end
    if not waits then
      grant(ctx, rid, request, 'held', ctx.now + request.ttl_ms)
      emit_lock_event(ctx, 'lock.acquired', rid, request, '')
      return 'granted'
    elseif not search then
      join_line(ctx, rid, request)
      return 'queued'
    elseif round == 5 then
      circle = cycle_of(request, search)
    else
      circle, victim = break_cycle(ctx, request, search)
      if not victim then break end
    end
  end
  emit_lock_event(ctx, 'lock.deadlock', rid, request, ' cycle=' .. circle)
  remember(ctx, rid, 'deadlock ' .. circle)
  return 'deadlock', circle
end
