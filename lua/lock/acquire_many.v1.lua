-- lock.acquire_many.v1: acquire several locks, all or none, with one place among the waiters of each; otherwise as
-- acquire. No resource may be named twice. Each granted lock has its own fence; `place` is the last of its places.
--
-- ARGV   rid       id
-- ARGV   owner     id
-- ARGV   agent     id             ?=
-- ARGV   ttl_ms    int 0..3600000 ?=0
-- ARGV   wait_ms   int 0..86400000 ?=0
-- ARGV   priority  int 0..9       ?=5
-- ARGV   issued_ms int 0..
-- ARGV   born_ms   int 0..        ?=0
-- ARGV   purpose   bytes 0..200   ?=
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   resource  id
-- ITEM   mode      enum exclusive|shared|permit ?=exclusive
-- ITEM   permits   int 1..1000000 ?=1
-- GROUP  item      1..32
-- RETURN granted   now_ms:int deadline_ms:int fences:list(fence)
-- EACH   fence     part resource:id fence:int
-- RETURN queued    now_ms:int place:int poll_ms:int checked:int
-- RETURN busy      now_ms:int
-- RETURN deadlock  now_ms:int circle:text
-- RETURN ended     now_ms:int outcome:text
-- RETURN owner_waits now_ms:int rid:id
-- RETURN unavailable now_ms:int reason:text
-- RETURN rate_limited now_ms:int retry_ms:int
-- RETURN request_expired now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.acquired lock.queued lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   work
-- REPLAY rid
-- COST   12 + 5n commands if they are free; at most 660 commands, 33,000 steps

local parts, seen = {}, {}
for i = 1, item_count do
  if seen[item_resource[i]] then return refuse('item[' .. i .. '].resource', item_resource[i], 'named once') end
  seen[item_resource[i]] = true
  parts[i] = { code = mode_of(item_mode[i], item_permits[i]), fence = '0', depends_on = '', resource = item_resource[i] }
end
local ctx, refused = open_domain({ rid })
if refused then return refused end
if ttl_ms > ctx.settings.max_ttl_ms and not ctx.texts[rid] then
  return refuse('ttl_ms', ttl_ms, string.format('at most max_ttl_ms of the domain: %.0f', ctx.settings.max_ttl_ms))
end
local status, detail, request = decide(ctx, rid, parts)
close_domain(ctx)
if status == 'granted' then return { status, ctx.now, request.deadline_ms, fences_of(request) } end
if status == 'queued' then return { status, ctx.now, wait_answer(ctx, rid, request) } end
return { status, ctx.now, detail }
