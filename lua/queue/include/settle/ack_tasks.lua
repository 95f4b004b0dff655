-- ack_tasks(ctx, ids, tokens, results, held): complete the tasks whose lease has the given token; one answer each. held:
-- their entries of `running`, if the caller has read them.
local function ack_tasks(ctx, ids, tokens, results, held)
  local answers, done, by_time, kept, ended, traces = {}, {}, {}, {}, {}, nil
  if #ids == 0 then return answers end
  local byte, find, sub, match = string.byte, string.find, string.sub, string.match
  local completed, dropped = { 'completed' }, { 'result_dropped' }
  held = held or redis.call('HMGET', running, unpack(ids))  -- at most 1,000: items
  for i, id in ipairs(ids) do
    local token, lease = tokens[i], held[i]
    -- flags_of, inlined: a function call would make an ack of 100 tasks 3 % slower.
    if not lease or ended[id] or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32 then
      answers[i] = settled_before(id, token, { completed = true, result_dropped = true })
      if answers[i][1] == 'completed' and has_other_result(ctx, id, token, results[i], ended[id]) then answers[i] = { 'already' } end
    else
      local bar = find(lease, '|', #token, true)
      local ran, tied, own_ms = sub(lease, bar + 1), find(lease, ' ties', #token, true), nil
      local started_ms, attempt = match(ran, '^(%d+) (%d+)')
      if tied and tied < bar then
        local fits = #results[i] <= 4096 or not is_full()
        local own = on_end(ctx, id, fits and 'completed' or 'result_dropped', fits and results[i] or '')
        own_ms = tonumber(own.result_ms)
      end
      answers[i] = keep_result(ctx, id, results[i], own_ms, kept) and completed or dropped
      redis.call('HSET', task .. id, 'settled', token .. ' ' .. answers[i][1], 'ran', ran)
      local at = #done + 1
      local traced = find(lease, ' trace=', #token, true)
      if traced then
        traces = traces or {}
        traces[at] = match(lease, '^([^ |]+)', traced + 7)
      end
      done[at], by_time[2 * at - 1], by_time[2 * at], ended[id] = id, ctx.now_text, id, results[i]
      observe(ctx, 'run_ms', ctx.now - started_ms)
      if attempt ~= '1' then observe(ctx, 'attempts', tonumber(attempt)) end
    end
  end
  if #done == 0 then return answers end
  end_leases(ctx, done)
  -- at most 2,000: two for each item
  redis.call('ZADD', finished, unpack(by_time))
  if #kept > 0 then redis.call('MSET', unpack(kept)) end
  if ctx.settings.payload_ms then drop_payloads(ctx, done) end
  ctx.trace = traces and join_traces(traces, #done)
  emit(ctx, 'task.completed', table.concat(done, ' '), '')
  ctx.trace = nil
  ctx.ended = ctx.ended + #done
  return answers
end
