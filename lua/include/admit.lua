-- admit(conf, rid, request): grant a new request, or let it wait, or refuse it: the status, and what goes with it.
-- LATE
local function admit(conf, rid, request)
  read_rules(conf)
  end_around(conf, request.parts)
  local covered = cover_parts(conf, request)
  local refusal = unavailable(conf, request)
  if refusal then
    remember(conf, rid, 'unavailable ' .. refusal)
    return 'unavailable', refusal
  end
  local retry_ms = not covered and refuse_rate(conf, request.agent)
  if retry_ms then return 'rate_limited', retry_ms end
  local seq = redis.call('HINCRBY', requests, '#seq', 1)
  local head_start = request.priority * conf.step_ms
  local tail = string.format('%014.0f%012.0f', conf.now + 9 * conf.step_ms, seq)
  local upgrade = request.parts[1].leans ~= '' and not request.parts[2]
  local own = upgrade and string.format('%026.0f', seq)
    or string.format('%014.0f%012.0f', conf.now + head_start, seq)
  local other = not covered and waits_as(request.owner)
  if other and (not is_idle(request) or find_obstacle(conf, request, own)) then
    remember(conf, rid, 'owner_waits ' .. other)
    return 'owner_waits', other
  end
  local circle, victim
  for round = 1, 5 do
    request.order = own -- where a victim has gone, it may stand where it belongs
    local waits = find_obstacle(conf, request, own)
    if waits and request.until_ms == conf.now then
      remember(conf, rid, 'busy')
      return 'busy'
    end
    local search = waits and conf.detection and find_place(conf, request, tail)
    request.unchecked = request.unchecked or not conf.detection
    if not search and request.order ~= own then waits = find_obstacle(conf, request, request.order) end
    if not waits then
      grant(conf, rid, request, 'held', conf.now + request.ttl_ms)
      tell(conf, 'lock.acquired', rid, request, '')
      return 'granted'
    elseif not search then
      join_line(conf, rid, request)
      return 'queued'
    elseif round == 5 then
      circle = circle_of(request, search)
    else
      circle, victim = break_circle(conf, request, search)
      if not victim then break end
    end
  end
  tell(conf, 'lock.deadlock', rid, request, ' cycle=' .. circle)
  remember(conf, rid, 'deadlock ' .. circle)
  return 'deadlock', circle
end
