-- complete_plain(row, now, now_text, ids, tokens, results, runs): complete plain tasks, as ack_tasks, end_leases, emit
-- and write_counts do. runs: as plain_runs returns them. Returns the answers.
local function complete_plain(row, now, now_text, ids, tokens, results, runs)
  local answers, by_time, kept, times, completed = {}, {}, {}, {}, { 'completed' }
  for i, id in ipairs(ids) do
    redis.call('HSET', task .. id, 'settled', tokens[i] .. ' completed', 'ran', runs[i])
    if results[i] ~= '' then kept[#kept + 1], kept[#kept + 2] = result .. id, results[i] end
    answers[i], by_time[2 * i - 1], by_time[2 * i] = completed, now_text, id
    times[i] = now - string.match(runs[i], '^%d+')
  end
  -- at most 2,000: two for each item
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
  redis.call('ZADD', finished, unpack(by_time))
  if kept[1] then redis.call('MSET', unpack(kept)) end
  redis.call('XADD', events, 'MAXLEN', '~', row.settings.events_max or 'DEFAULT_events_max', '*', 'event', 'task.completed',
    'timestamp', now_text, 'id', table.concat(ids, ' '))
  count_times('run_ms', times)
  return answers
end
