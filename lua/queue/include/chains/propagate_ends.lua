-- propagate_ends(ctx, limit): carry out what ended tasks mean for others, oldest first, for at most limit of them. `c`,
-- `f`: report to the waiting tasks and to the gathering parent. `o`: report to the next task of the ordering key. `t`:
-- cancel the children. The rest stays noted. Returns how many were reported.
local function propagate_ends(ctx, limit)
  local batch, told, may_be_stored = { by_lane = {}, freed = {}, tells = {} }, 0, true
  local function follow(note, parent_only)
    local how, id, other, at, upto = string.match(note, '^(%l) (%S+) (%S+) (%d+) (%d+)$')
    local count, rest, tells = 0, '- 0', batch.tells
    if how == 't' then
      tell_waiting(ctx, batch)
      line_up_freed(ctx, batch)  -- cancel_children must see the tasks that became ready
      count, rest = cancel_children(ctx, id, other, at, upto, limit - told)
    elseif how then  -- else the note is damaged
      if at ~= '0' then tells[#tells + 1] = { other, at, how } end
      local waiting = (how == 'o' or parent_only) and {}
        or redis.call('ZRANGE', dependents .. id, '-inf', upto, 'BYSCORE', 'LIMIT', 0, limit - told, 'WITHSCORES')
      count = #waiting / 2
      if count > 0 then redis.call('ZREMRANGEBYRANK', dependents .. id, 0, count - 1) end
      for i = 1, #waiting, 2 do tells[#tells + 1] = { waiting[i], waiting[i + 1], how } end
    end
    local left = count == limit - told and how .. ' ' .. id .. ' ' .. rest .. ' ' .. upto or nil
    told = told + math.max(count, 1)
    return left
  end
  while told < limit do  -- at most 1,000: limit
    local stored, notes, parent_only, left = {}, {}, {}, nil
    if may_be_stored then stored, may_be_stored = read_notes(ctx, limit - told) end
    for i = 1, #stored, 2 do notes[#notes + 1] = stored[i] end
    if not stored[1] and ctx.notes then
      notes, parent_only, ctx.notes = ctx.notes, ctx.notes, nil
      table.sort(notes)
    end
    local last = 0
    while notes[last + 1] and told < limit do  -- at most 1,000: limit
      last = last + 1
      left = follow(notes[last], parent_only[notes[last]])
    end
    if last == 0 then break end
    if stored[1] then
      redis.call('ZREM', ends, unpack(notes, 1, last))  -- at most 1,000: limit
      if left then redis.call('ZADD', ends, stored[2 * last], left) end
    else
      for i = last + 1, #notes do keep_note(ctx, notes[i], parent_only[notes[i]]) end
      if left then keep_note(ctx, left) end
    end
    tell_waiting(ctx, batch)
  end
  line_up_freed(ctx, batch)
  return told
end
