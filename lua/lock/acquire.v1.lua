-- lock.acquire.v1: acquire a lock, or wait for it. The rid names the request: if it is sent again, the answer is its
-- state, and nothing changes. `issued_ms` is the domain's clock when the request was made. A request older than a
-- minute is refused as `request_expired`, and so is one from the future. Shared is compatible with shared, and permits
-- while there are enough. An owner's own holds never block its shared or exclusive requests. A lock that the owner
-- already holds strongly enough is granted again with the same fence. Other requests are granted in the order of their
-- arrival; a priority is a head start. With wait_ms=0, the answer is `busy` instead of a wait. An owner that already
-- waits may take a lock that no other request holds or wants; otherwise `owner_waits` names its waiting request: cancel
-- it if it is an old try of yours. `deadlock`: waiting would close a deadlock cycle: `owner>mode>resource` for each
-- waiter, whose resource the next one holds or waits for ahead of it; at most 256, and `+<n>` for those not named.
-- checked=0: call detect. If a repeated call returns `granted` for a lock that was handed over in between, poll or
-- renew before deadline_ms.
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
-- COST   9 commands if it is free, 19 to wait, more if its owner holds locks that others wait for; at most 670 commands, 32,000 steps

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
