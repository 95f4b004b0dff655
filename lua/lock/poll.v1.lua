-- lock.poll.v1: return the state of requests. It shows that their clients are alive: a waiter keeps its place for
-- `waiter_ms` more. It also takes locks that were handed over, which then have their full lease. If the call is sent
-- again, it only renews.
--
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      granted deadline_ms:int fences:list(fence)
-- EACH   item      queued place:int poll_ms:int checked:int
-- EACH   item      deadlock circle:text
-- EACH   item      unavailable reason:text
-- EACH   item      ended outcome:text
-- EACH   item      unknown
-- EACH   fence     part resource:id fence:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.acquired lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 + 4n commands; at most 3,800 commands, 41,000 steps
-- EARLY  claim_grant close_domain mirror_hint read_request

local ctx, refused = open_domain(item_rid)
if refused then return refused end
catch_up(ctx, item_rid)
local answers = {}
for i, rid in ipairs(item_rid) do
  local request = live_request(ctx, rid)
  if request and request.order ~= '-' and not ctx.caught_up then
    -- its own lines do not wait for the backlog either
    expire_nearby(ctx, request.parts)
    for _, part in ipairs(request.parts) do note_line(ctx, part.resource) end
    promote_freed(ctx)
    request = live_request(ctx, rid)
  end
  local refusal = request and request.order ~= '-' and unavailable(ctx, request)
  if refusal then
    end_request(ctx, rid, request, 'unavailable ' .. refusal, 'lock.cancelled', ' reason=' .. refusal)
    promote_freed(ctx)
    request = nil
  end
  if not request then
    local outcome, detail = string.match(record_of(ctx, rid) or 'ended unknown', '^ended (%S+) ?(.*)$')
    if outcome == 'deadlock' or outcome == 'unavailable' then
      answers[i] = { outcome, detail }
    else
      answers[i] = outcome == 'unknown' and { 'unknown' } or { 'ended', outcome }
    end
  elseif request.order ~= '-' then
    read_rules(ctx)
    set_deadline(ctx, rid, math.min(tonumber(request.until_ms), ctx.now + ctx.waiter_ms))
    answers[i] = { 'queued', wait_answer(ctx, rid, request) }
  else
    if request.state == 'granted' then claim_grant(ctx, rid, request) end
    answers[i] = { 'granted', tonumber(redis.call('ZSCORE', deadlines, rid)), fences_of(request) }
  end
end
close_domain(ctx)
return { 'ok', ctx.now, answers }
