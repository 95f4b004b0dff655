-- window_left(ctx, wanted, window_ms, limit): for how many more ms the first waiting tasks of these lanes wait for
-- company. 0 if one of them has waited for the window or is leased alone, or if limit tasks wait, or none. The caller
-- took the wake token of the lane, so it is pushed again for other workers, in case the caller does not come back.
local function window_left(ctx, wanted, window_ms, limit)
  local left_ms
  for _, lane in ipairs(wanted) do
    local id = redis.call('ZRANGE', ready .. lane, 0, 0)[1]
    if id then
      local row = redis.call('HMGET', task .. id, 'created_ms', 'ready_ms', 'kind')
      local since_ms = tonumber(row[2] or row[1] or 0)
      if ctx.alone and ctx.alone[row[3]] then return 0 end
      if redis.call('ZCARD', ready .. lane) >= limit or since_ms + window_ms <= ctx.now then return 0 end
      left_ms = math.min(left_ms or MAX_SAFE, since_ms + window_ms - ctx.now)
    end
  end
  for _, lane in ipairs(left_ms and wanted or {}) do
    if redis.call('EXISTS', ready .. lane) == 1 then push_wake(ctx, lane) end
  end
  return left_ms or 0
end
