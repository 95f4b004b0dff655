-- take_snapshot(ctx): add the totals and the numbers of tasks to the minutes of the history, and the first of an hour also to its
-- hours. ctx.history_ms is the minute of the last snapshot.
local function take_snapshot(ctx)
  local minute_ms = ctx.now - ctx.now % 60000
  -- at most 200: totals and buckets
  local totals, found = redis.call('HGETALL', counters), { claimed = 0, completed = 0 }
  for i = 1, #totals, 2 do
    local what = string.match(totals[i], '^(%l+)_ms:')
    if what == 'wait' then found.claimed = found.claimed + totals[i + 1]
    elseif what == 'run' then found.completed = found.completed + totals[i + 1]
    else found[totals[i]] = totals[i + 1]
    end
  end
  local names, in_line, numbers = redis.call('SRANDMEMBER', lanes, 201), 0, { string.format('%.0f', minute_ms) }
  for i = 1, #names <= 200 and #names or 0 do in_line = in_line + redis.call('ZCARD', ready .. names[i]) end
  for _, name in ipairs({ 'enqueued', 'claimed', 'completed', 'retried', 'dead', 'cancelled', 'stalled', 'wait_ms_sum', 'run_ms_sum' }) do
    numbers[#numbers + 1] = string.format('%.0f', found[name] or 0)
  end
  numbers[#numbers + 1] = #names <= 200 and in_line or -1
  for _, set in ipairs({ delayed, blocked, leases, dead, workers }) do numbers[#numbers + 1] = redis.call('ZCARD', set) end
  local text = table.concat(numbers, ' ')
  redis.call('RPUSH', history .. 'minutes', text)
  redis.call('LTRIM', history .. 'minutes', -1440, -1)
  if math.floor(minute_ms / 3600000) ~= math.floor(ctx.history_ms / 3600000) then
    redis.call('RPUSH', history .. 'hours', text)
    redis.call('LTRIM', history .. 'hours', -720, -1)
  end
  redis.call('HSET', config, 'history_ms', string.format('%.0f', minute_ms))
end
