-- sweep_events(ctx, floor): delete events that are older than floor (ms), and not held by a group. It deletes
-- whole blocks, which costs almost nothing. Groups without a reader lapse first. Returns how many events were deleted, whether more may be
-- left, and which group holds the rest.
local function sweep_events(ctx, floor)
  local held_by = ''
  for _, name in ipairs(redis.call('ZRANGE', groups, 0, 99)) do  -- at most 100: groups
    local row = redis.call('HMGET', group_at .. name, 'last', 'read_ms', 'lapsed')
    local own = { last = row[1] or '0-0', read_ms = row[2] or '0', lapsed = row[3] }
    if has_lapsed(ctx, own) then
      if own.lapsed ~= '1' then
        redis.call('HSET', group_at .. name, 'lapsed', '1')
        emit_group(ctx, 'group.lapsed', name, '')
      end
    else
      local oldest = redis.call('ZRANGE', unacked .. name, 0, 0, 'WITHSCORES')[2]
      local from = tonumber(oldest or string.match(own.last, '^%d+'))
      if from < floor then floor, held_by = from, name end
    end
  end
  if floor <= 0 then return 0, false, held_by end
  local removed = redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', floor))  -- at most 100 blocks of 100 events
  if removed == 0 then redis.call('HSET', config, 'swept_ms', ctx.now_text) end
  return removed, removed > 0, held_by
end
