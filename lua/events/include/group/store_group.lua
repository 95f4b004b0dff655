-- store_group(ctx, own): store what a read has changed, and that the group has a reader.
local function store_group(ctx, own)
  local since = ctx.now - tonumber(own.read_ms)
  if not own.changed and own.lapsed ~= '1' and since < math.min(WAIT_seen_ms, ctx.settings.lapse_ms / 10) then return end
  local stored = { 'last', own.last, 'seen', own.seen, 'read_ms', ctx.now_text, 'lost', own.lost }
  if own.gap_from ~= '' then
    for i, word in ipairs({ 'gap', own.gap, 'gap_from', own.gap_from, 'gap_to', own.gap_to, 'gap_lost', own.gap_lost }) do
      stored[8 + i] = word
    end
  end
  redis.call('HSET', group_at .. group, unpack(stored))  -- at most 16: fields of a group
  if own.lapsed == '1' then redis.call('HDEL', group_at .. group, 'lapsed') end
end
