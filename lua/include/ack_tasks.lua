-- ack_tasks(conf, ids, tokens, results, tally): complete tasks whose lease is this token's; one answer each.
-- NEEDS running task result finished emit observe settled_before end_leases
local function ack_tasks(conf, ids, tokens, results, tally)
  local answers, done, by_time, kept, ended = {}, {}, {}, {}, {}
  if #ids == 0 then return answers end
  local byte, find, sub, match = string.byte, string.find, string.sub, string.match
  local completed = { 'completed' }
  local held = redis.call('HMGET', running, unpack(ids))
  for i, id in ipairs(ids) do
    local token, lease = tokens[i], held[i]
    -- The hot path: what read_lease does, without a pattern over the whole entry.
    if not lease or ended[id] or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32 then
      answers[i] = settled_before(id, token, { completed = true })
    else
      local ran = sub(lease, find(lease, '|', #token, true) + 1)
      local started_ms, attempt = match(ran, '^(%d+) (%d+)')
      redis.call('HSET', task .. id, 'settled', token .. ' completed', 'ran', ran)
      if results[i] ~= '' then kept[#kept + 1], kept[#kept + 2] = result .. id, results[i] end
      ended[id], answers[i] = true, completed
      local at = #done + 1
      done[at], by_time[2 * at - 1], by_time[2 * at] = id, conf.now_text, id
      observe(tally, 'run_ms', conf.now - started_ms)
      if attempt ~= '1' then observe(tally, 'attempts', tonumber(attempt)) end
    end
  end
  if #done == 0 then return answers end
  end_leases(done)
  redis.call('ZADD', finished, unpack(by_time))
  if #kept > 0 then redis.call('MSET', unpack(kept)) end
  emit(conf, 'task.completed', table.concat(done, ' '), '')
  return answers
end
