-- claim_tasks(conf, wanted, limit, seen_ms, tally): lease the next tasks of these lanes to this call's worker, until
-- the reply would pass 4 MiB, or conf.met limits a bound; a kind in conf.alone is leased alone. seen_ms: when the slot kept house last. The deadline, and the leases.
-- EARLY
local function claim_tasks(conf, wanted, limit, seen_ms, tally)
  if conf.paused then wanted = {} end
  local next_ids, scores, from, there = peek_ready(wanted, conf.limits and limit + 100 or limit)
  local fence = #next_ids > 0 and redis.call('HINCRBY', config, 'fence', #next_ids) - #next_ids or 0
  conf.fence = fence
  local deadline_ms = conf.now + conf.lease_ms
  local deadline_text = string.format('%.0f', deadline_ms)
  local token_start = incarnation .. '.' .. slot .. '.' .. n .. '/'
  local leased, ids, held, ending, taken, counts, bytes, traces = {}, {}, {}, {}, {}, {}, 0, nil
  for i, id in ipairs(next_ids) do
    local record, failed, crashes, delivered, since_ms, size, tied, traced = read_task(id)
    local waits, limited, alone = nil, nil, conf.alone and comes_alone(conf, record)
    if #leased == limit or (conf.met or 0) > 500 + 5 * limit or ((alone or bytes + size > 4194304) and #leased > 0) then break end
    if conf.limits then conf.lane = wanted[from[i]] end
    if conf.limits and since_ms then waits, limited = held_back(conf, id, record, scores[i], tied, tally) end
    counts[from[i]] = (counts[from[i]] or 0) + 1
    if not since_ms then
      drop_task(conf, id)
    elseif not waits and tied and start_tied(conf, id) then
      redis.call('HSET', task .. id, 'reason', 'expired')
      bury_task(conf, 'task.expired', id, 'expired', tied, tally)
      for _, limit in ipairs(limited or {}) do conf.spared[#conf.spared + 1] = limit.key end
    elseif not waits then
      local at, attempt, delivery = #leased + 1, failed + 1, delivered + 1
      local token = token_start .. at
      local runs = delivery == 1 and '1 1 0' or attempt .. ' ' .. delivery .. ' ' .. crashes
      local holds = limited and hold_limits(conf, id, limited, fence + i) or ''
      bytes = bytes + size
      if alone then limit = 1 end
      if traced and string.find(traced, '[^!-{}~]') then traced = nil end  -- it would not fit into an entry of `running`
      if traced then traces = traces or {} end
      if traced then traces[at] = traced end
      ids[at], taken[at], leased[at] = id, i, { 'leased', id, token, fence + i, attempt, delivery, '', record }
      held[2 * at - 1] = id
      held[2 * at] = write_lease(conf, token, scores[i], wanted[from[i]], tied, holds, traced, runs, fence + i, worker)
      ending[2 * at - 1], ending[2 * at] = deadline_text, id
      observe(tally, 'wait_ms', conf.now - since_ms)
    end
  end
  take_out(conf, wanted, counts, there)
  if conf.fair then note_claimed(conf, wanted, from, scores, taken) end
  redis.call('HSET', worker_hash .. worker, 'slot:' .. slot,
    n .. string.format(' %.0f ', seen_ms) .. table.concat(ids, ' '), 'busy',
    busy < 0 and '' or busy + #leased)
  if #leased == 0 then return deadline_ms, leased end
  if conf.timeout_ms then give_timeout(conf, leased) end
  -- at most 2,000: two for each lease of a claim
  redis.call('ZADD', leases, unpack(ending))
  redis.call('HSET', running, unpack(held))
  conf.trace = traces and join_traces(traces, #leased)
  emit(conf, 'task.claimed', table.concat(ids, ' '),
    'worker=' .. worker .. ' fence=' .. leased[1][4] .. ' deadline_ms=' .. deadline_text)
  conf.trace = nil
  for _, id in ipairs(add_payloads(leased)) do emit(conf, 'task.alert', id, 'reason=payload_missing') end
  return deadline_ms, leased
end
