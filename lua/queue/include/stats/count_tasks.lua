-- count_tasks(ctx): what stats returns, as a list: the status, the time, the mode, how many tasks are in each state, and so on. Also
-- returns the lanes that it has counted, at most 10,000.
local function count_tasks(ctx)
  local names, sizes, in_line = redis.call('SRANDMEMBER', lanes, 10000), {}, 0
  for i = 1, math.min(#names, 10000) do
    local size = redis.call('ZCARD', ready .. names[i])
    if i <= 1000 then sizes[2 * i - 1], sizes[2 * i] = names[i], string.format('%d', size) end
    in_line = in_line + size
  end

  -- Each claim is in one bucket of wait_ms, each completion in one of run_ms: their sums are not counted apart.
  -- at most 200: totals and buckets
  local totals, sums = redis.call('HGETALL', counters), { wait_ms = 0, run_ms = 0 }
  for i = 1, #totals, 2 do
    local name = string.match(totals[i], '^(%l+_ms):')
    if name then sums[name] = sums[name] + totals[i + 1] end
  end
  for name, sum in pairs({ claimed = sums.wait_ms, completed = sums.run_ms }) do
    if sum > 0 then totals[#totals + 1], totals[#totals + 2] = name, string.format('%.0f', sum) end
  end
  local leased = redis.call('ZCARD', leases)
  local others = #names < 1000 and 0 or redis.call('SCARD', lanes) - 1000
  return {
    'ok', ctx.now, ctx.settings.mode or 'running', in_line,
    redis.call('ZCARD', delayed), redis.call('ZCARD', blocked), leased,
    leased > 0 and redis.call('ZCOUNT', leases, '-inf', ctx.now) or 0, redis.call('ZCARD', finished), redis.call('ZCARD', dead),
    redis.call('ZCOUNT', workers, string.format('(%.0f', ctx.now - ctx.settings.presence_ms), '+inf'),
    sizes, math.max(0, others), totals,
  }, names
end
