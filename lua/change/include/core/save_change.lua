-- save_change(ctx, own): store what this call has changed, and when the change is due next.
-- EARLY
local function save_change(ctx, own)
  if own.list_changed then
    local words = {}
    for i, one in ipairs(own.list) do  -- at most 32: slots
      words[i] = one.slot .. ' ' .. one.status .. ' ' .. one.reviewer .. one.chain .. ' ' .. one.by
        .. (one.sender ~= '' and '>' .. one.sender or '') .. (one.chain ~= '' and ' ' .. one.via or '')
    end
    set_field(own, 'slots', table.concat(words, ','))
  end
  if #own.changed == 0 then return end
  -- at most 200: two for each field that a step and what was due before it change
  redis.call('HSET', change .. own.id, 'updated_ms', ctx.now_text, unpack(own.changed))
  local next_ms = due_of(own)
  if next_ms ~= own.due_ms and next_ms == MAX_SAFE then
    redis.call('ZREM', due, own.id)
  elseif next_ms ~= own.due_ms then
    redis.call('ZADD', due, next_ms, own.id)
  end
end
