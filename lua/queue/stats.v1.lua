-- queue.stats.v1: return how many tasks are in each state, how many workers are alive, and the totals since the queue
-- began. `attempts:<b>` counts completions that took more than one run. `stalled` is a part of `running`. At most 1,000
-- lanes are listed, and `more_lanes` is the number of others; `ready` counts the tasks of 10,000 lanes.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int mode:text ready:int delayed:int blocked:int running:int stalled:int finished:int dead:int workers:int lanes:pairs(lanes) more_lanes:int counters:pairs(counters)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   12 + l commands for l lanes; at most 12,000 commands, 45,000 steps

local ctx, refused = open()
if refused then return refused end

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
return {
  'ok', ctx.now, ctx.settings.mode or 'running', in_line,
  redis.call('ZCARD', delayed), redis.call('ZCARD', blocked), redis.call('ZCARD', leases),
  redis.call('ZCOUNT', leases, '-inf', ctx.now), redis.call('ZCARD', finished), redis.call('ZCARD', dead),
  redis.call('ZCOUNT', workers, string.format('(%.0f', ctx.now - ctx.settings.presence_ms), '+inf'),
  sizes, math.max(0, redis.call('SCARD', lanes) - 1000), totals,
}
