-- events.read.v1: deliver events to a reader of a group: first those that were delivered before and not acknowledged in time, then new ones,
-- in order. Each is delivered again after `hold_ms` unless `ack` names it. So if a reader dies, or the answer is lost, another read gets
-- them. An answer ends at `limit` events, or when it passes 4 MiB. While 10,000 events are pending, no new ones are delivered.
-- `gap`: events that were trimmed before the group had read or acknowledged them. It is reported until `ack` names its number.
-- `lag`: how many events were not delivered yet. `due_ms`: when the next event is delivered again; 0: none is pending. `last`: the newest event
-- that was delivered to the group, so `XREAD BLOCK` can wait for the next.
-- Once an hour a read also trims old events, as `trim` does.
--
-- ARGV   group    name
-- ARGV   limit    int 1..1000          ?=100
-- ARGV   hold_ms  int 1000..86400000   ?=60000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int lag:int due_ms:int last:text gaps:list(gap) items:list(item)
-- RETURN unknown  now_ms:int
-- EACH   gap      gap   number:int from:text to:text lost:int
-- EACH   item     event id:text fields:pairs(event)
-- EACH   item     again id:text fields:pairs(event)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.gap group.lapsed
-- ROLE   follow
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   10 commands, and 1 for each event that was delivered before; at most 1,200 commands, 78,000 steps

local ctx, refused = open()
if refused then return refused end
local own = load_group(group)
if not own then return { 'unknown', ctx.now } end

local stream = look_stream()
note_trimmed(own, stream)
local answer = { items = {}, room = 4194304 }
take_over(ctx, own, answer)
deliver_new(ctx, own, answer)

if own.fresh_gap then
  local detail = string.format('from=%s to=%s lost=%.0f', own.gap_from, own.gap_to, own.gap_lost)
  if emit_group(ctx, 'group.gap', group, detail) then stream.added = stream.added + 1 end
end
store_group(ctx, own)
if math.abs(ctx.now - ctx.settings.swept_ms) >= WAIT_sweep_ms then  -- a clock may be set back
  local keep_ms = ctx.settings.noun_keep_ms
  sweep_events(ctx, ctx.now - (keep_ms > 0 and keep_ms or ctx.settings.keep_ms))
end

local gaps = {}
if own.gap_from ~= '' then gaps[1] = { 'gap', own.gap, own.gap_from, own.gap_to, own.gap_lost } end
local next_due = redis.call('ZRANGE', pending .. group, 0, 0, 'WITHSCORES')
return { 'ok', ctx.now, math.max(0, stream.added - own.seen), tonumber(next_due[2] or 0), own.last, gaps, answer.items }
