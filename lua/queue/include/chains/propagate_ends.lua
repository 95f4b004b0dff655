-- propagate_ends(ctx, limit): carry out what ended tasks mean for others, oldest first, for at most limit of them. `c`,
-- `f`: report to the waiting tasks and to the gathering parent. `o`: report to the next task of the ordering key. `t`:
-- cancel the children. The rest stays noted. Returns how many were reported.
local function propagate_ends(ctx, limit)
  local batch, told = { by_lane = {}, freed = {} }, 0
  local function line_up_freed()
    make_ready(ctx, batch.by_lane)
    for first = 1, #batch.freed, 1000 do
      emit(ctx, 'task.unblocked', table.concat(batch.freed, ' ', first, math.min(first + 999, #batch.freed)), '')
    end
    batch = { by_lane = {}, freed = {} }
  end
  local function follow(note, at_ms)
    local how, id, other, at, upto = string.match(note, '^(%l) (%S+) (%S+) (%d+) (%d+)$')
    local count, rest = 0, '- 0'
    redis.call('ZREM', ends, note)
    if how == 't' then
      line_up_freed()  -- cancel_children must see the tasks that became ready
      count, rest = cancel_children(ctx, id, other, at, upto, limit - told)
    elseif how then  -- else the note is damaged
      if at ~= '0' then tell_waiting(ctx, other, at, how, batch) end
      local waiting = how == 'o' and {}
        or redis.call('ZRANGE', dependents .. id, '-inf', upto, 'BYSCORE', 'LIMIT', 0, limit - told, 'WITHSCORES')
      count = #waiting / 2
      if count > 0 then redis.call('ZREMRANGEBYRANK', dependents .. id, 0, count - 1) end
      for i = 1, #waiting, 2 do tell_waiting(ctx, waiting[i], waiting[i + 1], how, batch) end
    end
    if count == limit - told then redis.call('ZADD', ends, at_ms, how .. ' ' .. id .. ' ' .. rest .. ' ' .. upto) end
    told = told + math.max(count, 1)
  end
  while told < limit do  -- at most 1,000: limit
    local notes = redis.call('ZRANGE', ends, 0, limit - told - 1, 'WITHSCORES')
    if #notes == 0 then break end
    for i = 1, #notes, 2 do
      if told < limit then follow(notes[i], notes[i + 1]) end
    end
  end
  ctx.noted = nil
  line_up_freed()
  return told
end
