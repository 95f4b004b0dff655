-- lock.acquire.v1: take a lock, or wait for it in line. The rid names the request: whoever sends it again hears how it
-- stands, and nothing changes. `issued_ms` is the domain's clock when the request was made; after a minute it is
-- refused as `request_expired` (so is one from the future). A mode is compatible with itself where it is shared, or
-- permits while there are enough; an owner's own holds never stand against its shared or exclusive ones. What it holds
-- strongly enough already it is granted again under the same fence. Others are granted in the order of their coming, a
-- priority being a head start; with wait_ms=0 `busy` is the answer instead. An owner that waits already may take what
-- nobody has or wants; else `owner_waits` names its request; cancel it where that is an old try of yours.
-- `deadlock`: to wait would close a circle: `owner>mode>resource` for each who waits, for what the next one has or is
-- ahead for; 256 at most, and `+<n>` for those that are not named. checked=0: call detect. Where a call that is sent again hears `granted` of what was handed over meanwhile,
-- poll or renew before deadline_ms.
--
-- ARGV   rid       id
-- ARGV   resource  id
-- ARGV   owner     id
-- ARGV   agent     id             ?=
-- ARGV   mode      enum exclusive|shared|permit ?=exclusive
-- ARGV   permits   int 1..1000000 ?=1
-- ARGV   ttl_ms    int 0..3600000 ?=0
-- ARGV   wait_ms   int 0..86400000 ?=0
-- ARGV   priority  int 0..9       ?=5
-- ARGV   issued_ms int 0..
-- ARGV   born_ms   int 0..        ?=0
-- ARGV   purpose   bytes 0..200   ?=
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN granted   now_ms:int fence:int deadline_ms:int
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
-- COST   9 commands where nobody holds it, 19 to wait for somebody, more where its owner holds others that are waited for; at most 460 commands, 22,000 steps

local ctx, refused = open_domain({ rid })
if refused then return refused end
if ttl_ms > ctx.settings.max_ttl_ms and not ctx.texts[rid] then
  return refuse('ttl_ms', ttl_ms, string.format('at most max_ttl_ms of the domain: %.0f', ctx.settings.max_ttl_ms))
end
local fresh = not ctx.texts[rid] and math.abs(ctx.now - issued_ms) <= 60000
local deadline_ms = ctx.now + (ttl_ms > 0 and ttl_ms or ctx.settings.lease_ms)
if fresh and ctx.exists and not ctx.stepped and ctx.now < ctx.due and ctx.due <= deadline_ms
  and mode ~= 'permit' and ctx.settings.rate_per_minute == 0 and not ctx.settings.mirror
  and not redis.call('ZRANGE', graph, '[r ' .. resource .. ' ', '(r ' .. resource .. '!', 'BYLEX', 'LIMIT', 0, 1)[1] then
  -- nobody holds it, nobody waits for it, nothing else is to be seen to
  if agent == '' then agent = owner end
  local code, fence = mode == 'shared' and 's' or 'x', math.max(ctx.fence + 1, ctx.now * 1000)
  local fence_text, now_text = string.format('%.0f', fence), ctx.now_text
  local locks = code .. '/' .. fence_text .. '=' .. resource
  redis.call('ZADD', graph, 0, 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid,
    0, 'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid, 0, 'a ' .. agent .. ' ' .. rid)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  local born_text = born_ms > 0 and string.format('%.0f', born_ms) or now_text
  redis.call('HSET', requests, '#now', now_text, '#fence', fence_text, rid, 'held ' .. owner .. ' ' .. agent
    .. string.format(' %d ', priority) .. now_text .. ' ' .. born_text .. string.format(' %d 0 - ', deadline_ms - ctx.now)
    .. now_text .. ' ' .. locks .. ' ' .. purpose)
  emit(ctx, 'lock.acquired', rid, 'owner=' .. owner .. ' agent=' .. agent .. ' locks=' .. locks)
  redis.pcall('SPUBLISH', channel .. resource, 'acquired:' .. agent)
  return { 'granted', ctx.now, fence, deadline_ms }
end
-- LATE BODY
local parts = { { code = mode_of(mode, permits), fence = '0', depends_on = '', resource = resource } }
local status, detail, request = decide(ctx, rid, parts)
close_domain(ctx)
if status == 'granted' then return { status, ctx.now, tonumber(request.parts[1].fence), request.deadline_ms } end
if status == 'queued' then return { status, ctx.now, wait_answer(ctx, rid, request) } end
return { status, ctx.now, detail }
