-- repair_line(ctx, key, from): remove holders of a limit that have no lease with it, and waiting tasks that do not wait
-- there, and schedule a look at its queue. Returns how many were seen in the longer set, and how many were wrong.
-- LATE
local function repair_line(ctx, key, from)
  local stale, wrong, long = {}, 0, 0
  local ids = redis.call('ZRANGE', holding .. key, from, from + 999)
  local held = #ids > 0 and redis.call('HMGET', running, unpack(ids)) or {}  -- at most 1,000: the page
  local due = #ids > 0 and redis.call('ZMSCORE', leases, unpack(ids)) or {}  -- at most 1,000: the page
  for i, id in ipairs(ids) do
    local holds = false
    for _, one in ipairs(held_limits(due[i] and held[i])) do holds = holds or one == key end
    if not holds then stale[#stale + 1] = id end
  end
  if #stale > 0 and not dry_run then
    redis.call('ZREM', holding .. key, unpack(stale))  -- at most 1,000: the page
    redis.call('ZADD', limit_lines, 'XX', 'LT', ctx.now - BAND, key)
  end
  wrong, long, stale = #stale, #ids, {}
  local line = redis.call('ZRANGE', waiting .. key, from, from + 999, 'WITHSCORES')
  for i = 1, #line, 2 do
    local there = redis.call('ZSCORE', blocked, line[i]) == line[i + 1]
    if not there or redis.call('HGET', task .. line[i], 'limited_by') ~= key then stale[#stale + 1] = line[i] end
  end
  if #stale > 0 and not dry_run then redis.call('ZREM', waiting .. key, unpack(stale)) end  -- at most 1,000: the page
  wrong, long = wrong + #stale, math.max(long, #line / 2)
  local there = redis.call('EXISTS', waiting .. key)
  if (there == 1) ~= (redis.call('ZSCORE', limit_lines, key) ~= false) then
    wrong = wrong + 1
    if dry_run then return { 'seen', long, wrong } end
    if there == 1 then redis.call('ZADD', limit_lines, ctx.now_text, key) else redis.call('ZREM', limit_lines, key) end
  end
  return { 'seen', long, wrong }
end
