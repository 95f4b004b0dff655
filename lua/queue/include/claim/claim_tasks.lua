-- claim_tasks(ctx, wanted, limit, seen_ms): lease the next tasks of these lanes to the worker of this call, until the
-- reply would exceed 4 MiB, or it has met too many limits (ctx.met). A kind in ctx.alone is leased alone. seen_ms: when
-- the slot did its housekeeping last. Returns the deadline and the leases.
-- EARLY
local function claim_tasks(ctx, wanted, limit, seen_ms)
  if ctx.settings.mode == 'paused' then wanted = {} end
  local next_ids, scores, from, there = peek_ready(wanted, ctx.settings.limits > 0 and limit + 100 or limit)
  local fence = #next_ids > 0 and redis.call('HINCRBY', config, 'fence', #next_ids) - #next_ids or 0
  ctx.fence = fence
  local deadline_ms, deadline_text = ctx.now + ctx.lease_ms, string.format('%.0f', ctx.now + ctx.lease_ms)
  local token_start = incarnation .. '.' .. slot .. '.' .. n .. '/'
  local leased, ids, held, ending, taken, numbers, bytes, traces = {}, {}, {}, {}, {}, {}, 0, nil
  for i, id in ipairs(next_ids) do
    if #leased == limit or ctx.met > 500 + 5 * limit then break end
    if ctx.settings.limits > 0 then ctx.lane = wanted[from[i]] end
    local waits, limited = ctx.joins and ctx.joins[1] and not ctx.alone and joins_at_once(ctx, id, scores[i]), nil
    local record, failed, crashes, delivered, since_ms, size, tied, traced, stored
    if not waits then record, failed, crashes, delivered, since_ms, size, tied, traced, stored = read_task(id) end
    local alone = ctx.alone and comes_alone(ctx, record)
    if not waits and (alone or bytes + size > 4194304) and #leased > 0 then break end
    if ctx.settings.limits > 0 and since_ms then waits, limited = apply_limits(ctx, id, record, scores[i], tied) end
    numbers[from[i]] = (numbers[from[i]] or 0) + 1
    if not (waits or since_ms) then
      drop_task(ctx, id)
    elseif not waits and tied and start_tied(ctx, id, record) then
      redis.call('HSET', task .. id, 'reason', 'expired')
      move_to_dead(ctx, 'task.expired', id, 'expired', tied)
      for _, limit in ipairs(limited or {}) do ctx.spared[#ctx.spared + 1] = limit.key end
    elseif not waits then
      local at, attempt, delivery = #leased + 1, failed + 1, delivered + 1
      local token, runs = token_start .. at, delivery == 1 and '1 1 0' or attempt .. ' ' .. delivery .. ' ' .. crashes
      local holds = limited and hold_limits(ctx, id, limited, fence + i) or ''
      bytes, limit = bytes + size, alone and 1 or limit
      if traced and string.find(traced, '[^!-{}~]') then traced = nil end  -- it would not fit into an entry of `running`
      if traced then traces = traces or {}; traces[at] = traced end
      if stored then add_steps(record, id, stored) end
      ids[at], taken[at], leased[at] = id, i, { 'leased', id, token, fence + i, attempt, delivery, '', record }
      held[2 * at - 1], held[2 * at] = id, write_lease(ctx, token, scores[i], wanted[from[i]], tied, holds, traced, runs, fence + i, worker)
      ending[2 * at - 1], ending[2 * at] = deadline_text, id
      observe(ctx, 'wait_ms', ctx.now - since_ms)
    end
  end
  if ctx.settings.limits > 0 then write_limits(ctx) end
  remove_ready(ctx, wanted, numbers, there)
  on_take(ctx, wanted, from, scores, taken)
  redis.call('HSET', worker_hash .. worker, 'slot:' .. slot,
    n .. string.format(' %.0f ', seen_ms) .. table.concat(ids, ' '), 'busy',
    busy < 0 and '' or busy + #leased)
  if #leased == 0 then return deadline_ms, leased end
  if ctx.settings.timeout_ms > 0 then give_timeout(ctx, leased) end
  -- at most 2,000: two for each lease of a claim
  redis.call('ZADD', leases, unpack(ending))
  redis.call('HSET', running, unpack(held))
  ctx.trace = traces and join_traces(traces, #leased)
  emit(ctx, 'task.claimed', table.concat(ids, ' '),
    'worker=' .. worker .. ' fence=' .. leased[1][4] .. ' deadline_ms=' .. deadline_text)
  ctx.trace = nil
  for _, id in ipairs(add_payloads(leased)) do emit(ctx, 'task.alert', id, 'reason=payload_missing') end
  return deadline_ms, leased
end
