-- lock.show.v1: return the holders and waiters of a resource, in order, with their details; at most `limit` of each,
-- and fewer if they have many locks each: `holders` and `waiters` are their numbers. locks:
-- `<code>/<fence>=<resource>`, separated by commas; code is x, s or p and the number of permits; fence is 0 while
-- waiting.
--
-- ARGV   resource  id
-- ARGV   limit     int 1..500     ?=100
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int holders:int waiters:int capacity:pairs(capacity) items:list(item)
-- EACH   item      found rid:id state:text owner:id agent:id priority:int since_ms:int born_ms:int ttl_ms:int until_ms:int granted_ms:int deadline_ms:int place:int locks:text purpose:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   8 + 3n commands, and one for each lock of a waiter; ends at 20 x limit; at most 2,800 commands, 40,000 steps
-- LATE   describe parts_text place_of

local ctx, refused = open_domain({})
if refused then return refused end
local room, about, answers = read_capacity(ctx, resource), {}, {}
if room then
  about = { 'max', string.format('%.0f', room.max), 'used', string.format('%.0f', room.used), 'status',
    room.silent and 'offline' or room.status, 'seen_ms', room.seen_ms, 'silent_ms', room.silent_ms }
end
local counts = {}
for i, kind in ipairs({ 'h', 'q' }) do
  local line, work = 'r ' .. resource .. ' ' .. kind, 10 * limit
  counts[i] = redis.call('ZLEXCOUNT', graph, '[' .. line .. ' ', '(' .. line .. '!')
  for _, member in ipairs(members_below(line, limit)) do
    local rid = string.match(member, '^.* (%S+)$')
    local request = read_request(record_of(ctx, rid))
    answers[#answers + 1] = describe(rid, request)
    work = work - 4 - 2 * #request.parts
    if work <= 0 then break end
  end
end
return { 'ok', ctx.now, counts[1], counts[2], about, answers }
