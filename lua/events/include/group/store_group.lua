-- store_group(ctx, own): store what a read has changed, and at least once a minute that the group has a reader. Then the noun does not trim
-- its events by age until the group would lapse.
local function store_group(ctx, own)
  local since = ctx.now - tonumber(own.read_ms)
  local late = own.lapsed == '1' or since < 0 or since >= math.min(WAIT_seen_ms, ctx.settings.lapse_ms / 10)  -- below 0: a clock was set back
  if not own.changed and not late then return end
  local stored = { 'last', own.last, 'seen', own.seen, 'read_ms', late and ctx.now_text or own.read_ms, 'lost', own.lost }
  if own.gap_from ~= '' then
    for i, word in ipairs({ 'gap', own.gap, 'gap_from', own.gap_from, 'gap_to', own.gap_to, 'gap_lost', own.gap_lost }) do
      stored[8 + i] = word
    end
  end
  redis.call('HSET', group_at .. group, unpack(stored))  -- at most 16: fields of a group
  if own.lapsed == '1' then redis.call('HDEL', group_at .. group, 'lapsed') end
  if late then hold_events(ctx, ctx.settings.lapse_ms) end
end
