-- open_queue(): what every call needs of the queue's settings, and the time; or nil and the error to answer with.
local function open_queue()
  local row = redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'mode', 'finished_max', 'result_ms',
    'chains', 'schedules', 'limits', 'fair', 'fair_top', 'epoch', 'timeout_ms')
  local now, now_text = base_time(row[1], row[2])
  if not now then return nil, now_text end
  local ctx = {
    exists = row[1],
    now = now,
    now_text = now_text,
    lease_ms = tonumber(row[3] or DEFAULT_lease_ms),
    events_max = row[4] or DEFAULT_events_max,
    paused = row[5] == 'paused',
    draining = row[5] == 'draining',
    finished_max = tonumber(row[6] or DEFAULT_finished_max),
    result_ms = tonumber(row[7]),
    chains = row[8],
    schedules = row[9],
    limits = row[10],
    fair = (row[11] or DEFAULT_fair) ~= '0' and tonumber(row[11]),
    fair_top = tonumber(row[12] or 0),
    epoch = tonumber(row[13] or 0),
    timeout_ms = row[14] and row[14] ~= '0' and tonumber(row[14]),
    ended = 0,
    told = 0,  -- of ends, by propagate_ends, while it sweeps
    work = 300,  -- about how many commands the call may still send for what is due on its way
  }
  if row[10] then
    ctx.limit, ctx.limited, ctx.in_line, ctx.victims, ctx.spared, ctx.timed, ctx.started = {}, {}, {}, {}, {}, {}, {}
    ctx.met = 0
    ctx.steps = 100  -- how many lines of limits a call looks at, and tasks of them it lets go, together
    ctx.rules_ms = tonumber(row[10])  -- when a limit of a kind was changed last
    ctx.full = BAND + math.max(now, ctx.rules_ms + 1)  -- the score of the line of a full limit that is looked at now
  end
  return ctx
end
