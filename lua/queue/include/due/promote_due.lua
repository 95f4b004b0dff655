-- promote_due(ctx, limit): put delayed tasks that are due at the end of their lanes, the earliest first, as many as ctx.work
-- allows. Tasks that crashed again and are due at the same time keep the order that they had before, not that of ids.
local function promote_due(ctx, limit)
  limit = math.min(limit, math.ceil(ctx.work / (ctx.settings.fair > 0 and 3 or 2)))
  local page = redis.call('ZRANGE', delayed, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1, 'WITHSCORES')
  if #page == 0 then return 0 end
  local ids, tied, last = {}, false, math.min(limit, #page / 2)
  ctx.work = ctx.work - (ctx.settings.fair > 0 and 3 or 2) * last
  for i = 1, last do
    ids[i] = page[2 * i - 1]
    tied = tied or page[2 * i] == page[2 * i + 2]
  end
  if tied then ids = first_due(page, last) or ids end
  local place = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local by_lane, promoted = {}, {}
  redis.call('ZREM', delayed, unpack(ids))  -- at most 1,000: limit
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'created_ms', 'lane', 'priority', 'user')
    if not own[1] then
      drop_task(ctx, id)
    else
      line_up_last(ctx, by_lane, id, place + i, own[2], own[3], own[4])
      promoted[#promoted + 1] = id
    end
  end
  if #promoted == 0 then return 0 end
  make_ready(ctx, by_lane)
  emit(ctx, 'task.promoted', table.concat(promoted, ' '), '')
  add_count(ctx, 'promoted', #promoted)
  return #promoted
end
