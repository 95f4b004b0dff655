-- peek_lines(ctx, keys, from, again): read what drain_limit_queue needs of the lines of these limits, from that one on, 100 at most and
-- not more than ctx.steps allows: how many may start now (room), when to look again, the first in line, whether those are all, and
-- the scores of these that are blocked still. again: some were let go 5 s ago; if there is room still, workers of their lane are perhaps
-- not there, so that more may go (paced). By key.
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
