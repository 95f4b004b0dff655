-- change.begin.v1: begin to apply an approved change: exactly this revision and digest. The applier holds a lease from now on. The token
-- of the lease is the rid of this call. Before `deadline_ms` it sends `heartbeat`, and at the end `finish`.
-- If the call is sent again after the content has changed, it answers `outdated`, and never other content than `digest`.
-- With a lock domain in the settings, in the same slot, the request `lock_rid` must hold all resources of the change in exclusive mode for
-- the owner `<domain>/<id>`, the request of the run before must not hold them any more, and the lease ends no later than its locks.
-- `not_locked` names the first resource that is not locked so. If the call does not name the lock domain, that is the first resource.
-- `locks`: the fences of locks elsewhere, for the record.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   rev          int 1..1000000000
-- ARGV   digest       bytes 40..40
-- ARGV   agent        label
-- ARGV   caller       label             ?=
-- ARGV   lease_ms     int 0..3600000    ?=0
-- ARGV   lock_rid     id                ?=
-- ARGV   locks        bytes 0..8192     ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN begun        now_ms:int token:id fence:int deadline_ms:int run_ms:int content:pairs(content) parameters:bytes
-- RETURN not_locked   now_ms:int resource:text
-- RETURN held         now_ms:int agent:text deadline_ms:int
-- RETURN outdated     now_ms:int state:text rev:int digest:text
-- RETURN state        now_ms:int state:text rev:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.applying change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   apply
-- REPLAY rid
-- USES   lock
-- COST   17 commands; at most 1,800 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
local domain
if verifies_locks(ctx) then domain, refused = lock.open_domain({ lock_rid }) end
if refused then return refused end
local before = replayed_one(ctx, 'begin')
if before and before[1] ~= 'begun' then return before end
local CONTENT = { 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority', 'lock_rid' }
if before then
  local now = read_change(id)
  if not now then return { 'not_found', ctx.now } end
  if now.digest ~= digest then return { 'outdated', ctx.now, now.state, now.rev, now.digest } end
  read_fields(now, CONTENT)
  add_content(now, before)
  return before
end
local own = load_change(ctx, id)
if not own then return told(ctx, 'begin', nil, { 'not_found' }) end
if own.state == 'applying' then return told(ctx, 'begin', own, { 'held', text_of(own, 'agent'), own.deadline_ms }) end
if own.state ~= 'approved' then return told(ctx, 'begin', own, { 'state', own.state, own.rev }) end
if rev ~= own.rev or digest ~= own.digest then return told(ctx, 'begin', own, { 'outdated', own.state, own.rev, own.digest }) end
read_fields(own, CONTENT)
local missing, left = lock_refusal(ctx, own, domain, lock_rid)
local earlier = text_of(own, 'lock_rid')
if not missing and left and earlier ~= lock_rid then missing = joined_locks(own, domain, earlier) end
if missing then return told(ctx, 'begin', own, { 'not_locked', missing }) end

set_field(own, 'token', rid)
set_field(own, 'agent', agent)
set_field(own, 'fence', redis.call('HINCRBY', config, 'fence', 1))
set_field(own, 'started_ms', ctx.now)
set_field(own, 'applying_ms', ctx.now)
set_field(own, 'run_ms', number_of(own, 'timeout_ms') > 0 and number_of(own, 'timeout_ms') or ctx.settings.default_run_ms)
set_field(own, 'lease_ms', lease_ms)
set_field(own, 'lock_rid', lock_rid)
set_field(own, 'locks', locks)
set_field(own, 'deadline_ms', run_deadline(ctx, own, lease_ms, left))
ctx.caller = caller
move_to(ctx, own, 'applying')
record_step(ctx, own, 'change.applying', agent, 'fence=' .. string.format('%.0f', number_of(own, 'fence')), '')
local answer = told(ctx, 'begin', own, { 'begun', rid, number_of(own, 'fence'), own.deadline_ms, number_of(own, 'run_ms') })
add_content(own, answer)
return answer
