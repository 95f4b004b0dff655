-- change.heartbeat.v1: renew the lease of an applier. `cancelling`: somebody has cancelled the change; stop, and say so with `finish`.
-- `timed_out`: the time of the run is over; the lease ends 30 s later for good. `lost`: another may apply it by now; stop at once.
-- `lock_lost`: the request `lock_rid` of `begin` does not hold this resource any more, so the run has ended; stop at once, too.
--
-- ARGV   id           name
-- ARGV   token        id
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN renewed      now_ms:int deadline_ms:int
-- RETURN cancelling   now_ms:int deadline_ms:int
-- RETURN timed_out    now_ms:int deadline_ms:int
-- RETURN lock_lost    now_ms:int resource:text
-- RETURN lost         now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   apply
-- REPLAY state
-- USES   lock
-- FLAGS  allow-oom
-- COST   5 commands; at most 1,700 commands, 9,900 steps

local ctx, refused = open()
if refused then return refused end
local domain
if verifies_locks(ctx) then domain, refused = lock.open_domain({}) end
if refused then return refused end
local own = load_change(ctx, id)
local status, missing, left = 'lost', nil, nil
if own and own.state == 'applying' then
  read_fields(own, { 'token', 'lease_ms', 'lock_rid', 'resources', 'started_ms', 'run_ms', 'cancelling' })
end
if own and own.state == 'applying' and own.token == token then
  if own.lock_rid ~= '' then missing, left = lock_refusal(ctx, own, domain, own.lock_rid) end
  if missing then
    status = 'lock_lost'
    set_field(own, 'attempts', number_of(own, 'attempts') + 1)
    end_run(ctx, own, 'time', 'retry', status)
  else
    set_field(own, 'deadline_ms', run_deadline(ctx, own, number_of(own, 'lease_ms'), left))
    local over = ctx.now >= number_of(own, 'started_ms') + number_of(own, 'run_ms')
    status = text_of(own, 'cancelling') == '1' and 'cancelling' or over and 'timed_out' or 'renewed'
  end
end
if own then save_change(ctx, own) end
take_others(ctx, 10)
if status == 'lost' then return { 'lost', ctx.now } end
return { status, ctx.now, missing or own.deadline_ms }
