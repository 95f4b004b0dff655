-- peek_lines(ctx, keys, from, again): read what drain_limit_queue needs of the queues of these limits, from index
-- `from` on, at most 100 and as many as ctx.steps allows: how many may start now (room), when to look again, the first
-- tasks, whether these are all, and the scores of those that are still blocked. again: some were released 5 s ago. If
-- there is still room, the workers of their lane may be gone, so more are released (paced). By key. It reads one task
-- more than may start; where an older version has left others among them, ten more.
local function peek_lines(ctx, keys, from, again)
  local page = { unpack(keys, from, math.min(from + 99, #keys)) }  -- at most 100: a page
  read_rates(read_limits(ctx, page))
  local lines, scores, steps = {}, {}, ctx.steps
  for _, key in ipairs(page) do
    if steps <= 0 then break end
    local limit, room, recheck_at_ms, paced = ctx.limit[key], MAX_SAFE, ctx.now, false
    if limit then
      room, recheck_at_ms = room_left(ctx, limit)
      if again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms) then room, paced = 100, true end
    end
    local line = { room = room, recheck_at_ms = recheck_at_ms, paced = paced, most = math.min(room, 100, steps), first = {}, scores = scores }
    lines[key] = line
    read_line(line, key, 1)
    steps = steps - 1 - math.min(line.most, #line.first / 2)
  end
  if not read_places(lines, scores) then
    for key, line in pairs(lines) do read_line(line, key, 10) end
    read_places(lines, scores)
  end
  return lines
end
