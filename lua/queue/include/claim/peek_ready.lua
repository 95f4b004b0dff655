-- peek_ready(wanted, limit): the next tasks of these lanes. The lowest priority band comes first and, inside a band,
-- the lanes in order; with lane_first, the other way round. Returns lists of ids, scores and lane numbers, and how many
-- were read of each lane: one more than are taken, if there are more.
local function peek_ready(wanted, limit)
  local size = math.min(limit, math.ceil(limit / #wanted) + 15) + 1
  local pages, at, there, named = {}, {}, {}, {}
  local function turn(lane)
    pages[lane] = redis.call('ZRANGE', ready .. wanted[lane], there[lane], there[lane] + size - 1, 'WITHSCORES')
    at[lane], there[lane] = 1, there[lane] + #pages[lane] / 2
  end
  for lane = 1, #wanted do
    pages[lane], at[lane], there[lane] = {}, 1, 0
    if not named[wanted[lane]] then turn(lane) end  -- a lane named twice is seen once
    named[wanted[lane]] = true
  end
  local ids, scores, from = {}, {}, {}
  for i = 1, limit do
    local best, best_band
    for lane = 1, #pages do
      local score = pages[lane][at[lane] + 1]
      local band = score and math.floor(score / BAND)
      if band and (not best or (band < best_band and not lane_first)) then best, best_band = lane, band end
    end
    if not best then break end
    ids[i], scores[i], from[i] = pages[best][at[best]], pages[best][at[best] + 1], best
    at[best] = at[best] + 2
    if at[best] > 2 * size then turn(best) end
  end
  return ids, scores, from, there
end
