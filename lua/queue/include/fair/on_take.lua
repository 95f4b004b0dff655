-- fair_on_take(ctx, wanted, from, scores, taken): store, for each lane and priority band, the highest place that was
-- claimed (the virtual time). taken: the indexes of the claimed tasks in the lists of peek_ready. A lane that stays
-- empty for a day is forgotten.
-- WHEN ctx.settings.fair > 0
local function fair_on_take(ctx, wanted, from, scores, taken)
  local highest = {}
  for _, i in ipairs(taken) do
    local lane, band = wanted[from[i]], math.floor(scores[i] / BAND)
    highest[lane] = highest[lane] or {}
    highest[lane][band] = math.max(highest[lane][band] or 0, scores[i])
  end
  for lane, bands in pairs(highest) do
    for band, score in pairs(bands) do
      redis.call('ZADD', shares .. lane, 'GT', string.format('%.0f', score), band .. ' claimed')
    end
    if redis.call('EXISTS', ready .. lane) == 0 then redis.call('EXPIRE', shares .. lane, ctx.settings.limits > 0 and 2592000 or 86400) end  -- where this made it
  end
end
