-- lock.renew.v1: renew holds, each for its own lease time from now. Ended requests stay ended. If the call is sent
-- again, it renews again.
--
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      waiting
-- EACH   item      lost
-- EACH   item      unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.acquired lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   5 commands, O(n log m); at most 5 commands, 99,000 steps
-- EARLY  close_domain mirror_hint read_request

local ctx, refused = open_domain(item_rid)
if refused then return refused end
catch_up(ctx, item_rid)
local answers, renewed = {}, {}
for i, rid in ipairs(item_rid) do
  local request = live_request(ctx, rid)
  if not request then
    answers[i] = { record_of(ctx, rid) and 'lost' or 'unknown' }
  elseif request.order ~= '-' then
    answers[i] = { 'waiting' }
  else
    if request.state == 'granted' then claim_grant(ctx, rid, request) end
    answers[i] = { 'renewed', ctx.now + request.ttl_ms }
    renewed[#renewed + 1] = answers[i][2]
    renewed[#renewed + 1] = rid
  end
end
if #renewed > 0 then redis.call('ZADD', deadlines, 'GT', unpack(renewed)) end  -- at most 2,000: two for each item
close_domain(ctx)
return { 'ok', ctx.now, answers }
