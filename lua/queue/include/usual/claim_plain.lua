-- claim_plain(row, now, now_text, seen_ms, wanted, runs, complete): the usual claim, after plain_slot: nothing is due, and
-- the next tasks are plain. It sends the commands of sweep, claim_tasks and close. If anything is unusual, it returns nil
-- before any write, otherwise the answer. complete() ends the tasks of runs, see plain_runs, and returns the answers for
-- them.
local function claim_plain(row, now, now_text, seen_ms, wanted, runs, complete)
  local next_ms, timed_ms, unread = plain_due(row, now, runs)
  local found = next_ms and plain_tasks(now, now_text, wanted)
  if not found then return nil end
  local lane, leased, held, count = found.lane, found.leased, found.held, #found.leased
  local digits = string.format  -- takes less time than to append a number
  local slot_text, n_text = digits('%d', slot), digits('%d', n)
  local acks = complete and complete()
  if unread then
    next_ms = math.min(timed_ms or MAX_SAFE, redis.call('ZRANGE', leases, '0', '0', 'WITHSCORES')[2] or MAX_SAFE)
  end
  local length_ms = lease_ms > 0 and lease_ms or tonumber(row.settings.lease_ms or DEFAULT_lease_ms)
  local deadline_text, all = digits('%d', now + length_ms), ''
  if count > 0 then
    local fence, ids, ending = redis.call('HINCRBY', config, 'fence', count) - count, {}, {}
    local token_start = incarnation .. '.' .. slot_text .. '.' .. n_text .. '/'
    for i = 1, count do
      local lease, token = leased[i], token_start .. i
      lease[3], lease[4], ids[i] = token, fence + i, lease[2]
      held[2 * i] = token .. held[2 * i] .. digits('%d', fence + i) .. ' ' .. worker
      ending[2 * i - 1], ending[2 * i] = deadline_text, lease[2]
    end
    all = table.concat(ids, ' ')
    redis.call('ZREMRANGEBYRANK', ready .. lane, '0', count - 1)
    -- at most 200: two for each lease
    redis.call('ZADD', leases, unpack(ending))
    redis.call('HSET', running, unpack(held))
    redis.call('XADD', events, 'MAXLEN', '~', row.settings.events_max or 'DEFAULT_events_max', '*', 'event', 'task.claimed',
      'timestamp', now_text, 'id', all,
      'payload', 'worker=' .. worker .. ' fence=' .. digits('%d', fence + 1) .. ' deadline_ms=' .. deadline_text)
    count_times('wait_ms', found.waits)
  end
  if #found.page > 2 * count then
    if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
  elseif count > 0 then
    redis.call('SREM', lanes, lane)
    if timed_ms then redis.call('PEXPIRE', wake .. lane, '60000') else redis.call('DEL', wake .. lane) end
  end
  redis.call('HSET', worker_hash .. worker, 'slot:' .. slot_text, n_text .. ' ' .. seen_ms .. ' ' .. all, 'busy',
    busy < 0 and '' or busy + count)
  local heads = row.settings.schedules == '1' and redis.call('ZRANGE', schedules, '0', '0', 'WITHSCORES') or {}
  local fires_ms = tonumber(heads[2] or MAX_SAFE)
  if fires_ms == MAX_SAFE then fires_ms = 0 end  -- there are none, or all are paused
  if next_ms == MAX_SAFE then next_ms = 0 end
  if acks then return { 'ok', now, next_ms, fires_ms, length_ms, now + length_ms, acks, {}, leased } end
  return { 'ok', now, next_ms, fires_ms, length_ms, now + length_ms, leased }
end
