-- peek_lines(ctx, keys, from, again): read what drain_limit_queue needs of the queues of these limits, from index
-- `from` on, at most 100 and as many as ctx.steps allows: how many may start now (room), when to look again, the first
-- tasks, whether these are all, and the scores of those that are still blocked. again: some were released 5 s ago. If
-- there is still room, the workers of their lane may be gone, so more are released (paced). By key.
local function peek_lines(ctx, keys, from, again)
  local page = { unpack(keys, from, math.min(from + 99, #keys)) }  -- at most 100: a page
  read_rates(read_limits(ctx, page))
  local lines, ids, scores, steps = {}, {}, {}, ctx.steps
  for _, key in ipairs(page) do
    if steps <= 0 then break end
    local limit, room, recheck_at_ms, paced = ctx.limit[key], MAX_SAFE, ctx.now, false
    if limit then
      room, recheck_at_ms = room_left(ctx, limit)
      if again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms) then room, paced = 100, true end
    end
    local most = math.min(room, 100, steps)
    local first = most > 0 and redis.call('ZRANGE', waiting .. key, 0, most + 9, 'WITHSCORES') or {}
    for i = 1, #first, 2 do ids[#ids + 1] = first[i] end
    lines[key] = {
      room = room, recheck_at_ms = recheck_at_ms, paced = paced, first = first, whole = #first < 2 * most + 20, scores = scores,
    }
    steps = steps - 1 - math.min(most, #first / 2)
  end
  for first = 1, #ids, 7000 do
    local found = redis.call('ZMSCORE', blocked, unpack(ids, first, math.min(first + 6999, #ids)))
    for i, score in ipairs(found) do scores[ids[first + i - 1]] = score end
  end
  return lines
end
