-- events.groups.v1: all groups of an event stream, and the stream itself: how many events it holds, the first and the last of them.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int length:int first:text last:text items:list(item)
-- EACH   item     group name:name about:pairs(group)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands, and 3 for each group; at most 450 commands, 2,300 steps

local ctx, refused = open()
if refused then return refused end
local stream, items = look_stream(), {}
for i, name in ipairs(redis.call('ZRANGE', groups, 0, 99)) do  -- at most 100: groups
  local own = load_group(name) or { last = '0-0', seen = 0, read_ms = '0', lost = 0, gap = 0, gap_from = '', gap_to = '', gap_lost = 0 }
  local oldest = redis.call('ZRANGE', unacked .. name, 0, 0, 'WITHSCORES')
  local missed = math.max(0, stream.removed - own.seen)
  items[i] = { 'group', name, {
    'registered_ms', redis.call('ZSCORE', groups, name), 'read_ms', own.read_ms, 'last', own.last,
    'lag', string.format('%.0f', math.max(0, stream.added - own.seen - missed)),
    'pending', string.format('%.0f', redis.call('ZCARD', pending .. name)), 'oldest_ms', oldest[2] or '0',
    'lapsed', has_lapsed(ctx, own) and '1' or '0', 'lost', string.format('%.0f', own.lost),
    'gap', string.format('%.0f', own.gap_from ~= '' and own.gap or 0), 'gap_from', own.gap_from, 'gap_to', own.gap_to,
    'gap_lost', string.format('%.0f', own.gap_lost), 'missed', string.format('%.0f', missed),
  } }
end
return { 'ok', ctx.now, stream.length, stream.first, stream.last, items }
