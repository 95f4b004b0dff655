-- change.heartbeat.v1: renew the lease of an applier. `cancelling`: somebody has cancelled the change; stop, and say so with `finish`.
-- `timed_out`: the time of the run is over; the lease ends 30 s later for good. `lost`: another may apply it by now; stop at once.
--
-- ARGV   id           name
-- ARGV   token        id
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN renewed      now_ms:int deadline_ms:int
-- RETURN cancelling   now_ms:int deadline_ms:int
-- RETURN timed_out    now_ms:int deadline_ms:int
-- RETURN lost         now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.outdated change.reviewing change.reminded change.escalated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   apply
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   5 commands; at most 14 commands, 400 steps

local ctx, refused = open()
if refused then return refused end
local own = load_change(ctx, id)
local status = 'lost'
if own and own.state == 'applying' and own.token == token then
  local lease = tonumber(redis.call('HGET', change .. id, 'lease_ms'))
  set_field(own, 'deadline_ms', run_deadline(ctx, own, lease))
  status = own.cancelling == '1' and 'cancelling' or ctx.now >= own.started_ms + own.run_ms and 'timed_out' or 'renewed'
end
if own then save_change(ctx, own) end
take_others(ctx, 10)
return status == 'lost' and { 'lost', ctx.now } or { status, ctx.now, own.deadline_ms }
