-- lock.detect.v1: search for deadlock cycles among waiters whose search was too long at first (`checked` 0), and end
-- one wait of each by the policy. A waiter may move forward, never back. Each agent has a turn at most every 30
-- seconds. visits: how many commands, holds and waits the call may look at in all. A longer search is saved, and the
-- next call continues it, so that short calls find cycles of any length. more=1: there are other waiters, or such a
-- search: call again. With permits, everything that depends on the waiter has to be looked at in one call. If that is
-- more than `visits`, its next turn is in 30 seconds; then call with limit=1 and the largest `visits`. If the setting
-- `detection` is off, the call does nothing. `circle` names at most 256 owners; `+<n>` at its end: how many are not
-- named.
--
-- ARGV   limit     int 1..16      ?=4
-- ARGV   visits    int 100..20000 ?=2000
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int checked:int more:int items:list(item)
-- EACH   item      deadlock rid:id circle:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.queued lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   work
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   6 commands, 30 and more for each waiter; looks at `visits` commands, holds and waits in all, then hands over; at most 3,300 commands, 160,000 steps

local ctx, refused = open_domain({})
if refused then return refused end
end_due(ctx, 16)
read_rules(ctx)
if not ctx.detection then
  close_domain(ctx)
  return { 'ok', ctx.now, 0, 0, {} }
end
set_record(ctx, '#detected', ctx.now_text)
ctx.visits = visits
local begun, first, place = open_search(ctx)
local rids = redis.call('ZRANGE', unchecked, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 65)
local answers, checked, more = {}, 0, rids[65] ~= nil
if first and record_of(ctx, first) and string.find(record_of(ctx, first), ' ' .. place .. ' ', 1, true) then
  table.insert(rids, 1, first)
else
  begun = nil
end
for i, rid in ipairs(rids) do
  if checked == limit or ctx.visits <= 0 then
    more = true
    break
  end
  local told, later
  local resource, from = string.match(rid, '^line (%S+) (%S+)$')
  if resource then -- the rest of a line that set_capacity, or an earlier call, has begun to note
    redis.call('ZREM', unchecked, rid)
    ctx.visits, more = ctx.visits - recheck_line(ctx, resource, from), true
  elseif i == 1 or rid ~= first then
    told, later = check_wait(ctx, rid, i == 1 and begun or nil)
  end
  if i == 1 and begun and not later then redis.call('UNLINK', saved) end
  if told ~= nil then checked = checked + 1 end
  if told then answers[#answers + 1] = told end
  if later then
    more = more or not later.short or later.short ~= later.short_at
    break
  end
end
close_domain(ctx)
return { 'ok', ctx.now, checked, more and 1 or 0, answers }
