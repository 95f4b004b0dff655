-- write_joins(ctx, told): store which tasks have joined which limit queues since the last time. told: one event for each
-- queue says so.
local function write_joins(ctx, told)
  local all, looks = {}, {}
  for i, key in ipairs(ctx.joins) do
    local rows, ids = ctx.joins[key].rows, {}
    for at = 1, #rows, 2 do
      all[#all + 1], all[#all + 2], ids[#ids + 1] = rows[at], rows[at + 1], rows[at + 1]
    end
    redis.call('ZADD', waiting .. key, unpack(rows))  -- at most 2,200: two for each task of a call, or that a claim looks at
    if told then emit(ctx, 'task.limited', table.concat(ids, ' '), 'limit=' .. key) end
    looks[2 * i - 1], looks[2 * i] = ctx.joins[key].due_ms, key
  end
  -- at most 2,200: as above
  redis.call('ZADD', blocked, unpack(all))
  redis.call('ZADD', limit_lines, 'LT', unpack(looks))
  ctx.joins = {}
end
