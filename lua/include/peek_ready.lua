-- peek_ready(wanted, limit): the next tasks of these lanes: lowest priority band first and, inside a band, the lanes
-- in order. Lists of ids, scores and lane numbers, and per lane how many are there, one more than limit at the most.
-- NEEDS ready
local function peek_ready(wanted, limit)
  local pages, at, there, named = {}, {}, {}, {}
  for lane = 1, #wanted do
    -- A lane named twice is seen once.
    pages[lane] = named[wanted[lane]] and {} or redis.call('ZRANGE', ready .. wanted[lane], 0, limit, 'WITHSCORES')
    named[wanted[lane]], at[lane], there[lane] = true, 1, #pages[lane] / 2
  end
  local ids, scores, from = {}, {}, {}
  for i = 1, limit do
    local best, best_band
    for lane = 1, #pages do
      local score = pages[lane][at[lane] + 1]
      local band = score and math.floor(score / BAND)
      if band and (not best or band < best_band) then best, best_band = lane, band end
    end
    if not best then break end
    ids[i], scores[i], from[i] = pages[best][at[best]], pages[best][at[best] + 1], best
    at[best] = at[best] + 2
  end
  return ids, scores, from, there
end
