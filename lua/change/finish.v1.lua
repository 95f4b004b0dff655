-- change.finish.v1: end a run. `success` completes the change. `failure` and `timeout` are final, unless `retry` is set and attempts are
-- left: then the change is approved again. `released` gives the change back without an attempt. A token whose lease is over still counts
-- while nobody has begun again in the same round: what has happened counts more than the clock. `reviewing`, `submitted`: the approval is
-- over, too, and a new round has begun.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   token        id
-- ARGV   result       enum success|failure|timeout|cancelled|released
-- ARGV   retry        bool              ?=0
-- ARGV   printed      bytes 0..16384    ?=
-- ARGV   output_cut   bool              ?=0
-- ARGV   output_key   bytes 0..1024     ?=
-- ARGV   error        bytes 0..1024     ?=
-- ARGV   error_details bytes 0..4096    ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN completed    now_ms:int
-- RETURN failed       now_ms:int
-- RETURN cancelled    now_ms:int
-- RETURN approved     now_ms:int attempts:int
-- RETURN reviewing    now_ms:int attempts:int
-- RETURN submitted    now_ms:int attempts:int
-- RETURN lost         now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.completed change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   apply
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   17 commands; at most 1,900 commands, 12,000 steps

local ctx, refused = open()
if refused then return refused end
local before = replayed_one(ctx, 'finish')
if before then return before end
local own = load_change(ctx, id)
local running = own and own.state == 'applying'
if not own or text_of(own, 'token') ~= token or not running and own.state ~= 'approved' then return told(ctx, 'finish', own, { 'lost' }) end

set_field(own, 'token', '')
set_field(own, 'result', result)
set_field(own, 'output_cut', output_cut and '1' or '0')
set_field(own, 'output_key', output_key)
set_field(own, 'error', error)
set_field(own, 'error_details', error_details)
redis.call('SET', outputs .. id, printed)
if running and (result == 'failure' or result == 'timeout') then set_field(own, 'attempts', number_of(own, 'attempts') + 1) end
local final = { success = 'completed', failure = 'failed', timeout = 'failed', cancelled = 'cancelled', released = 'retry' }
local how = retry and final[result] == 'failed' and 'retry' or final[result]
end_run(ctx, own, text_of(own, 'agent'), how, result)
if due_of(own) <= ctx.now then take_due(ctx, own) end
local again = own.state == 'approved' or own.state == 'reviewing' or own.state == 'submitted'
return told(ctx, 'finish', own, again and { own.state, number_of(own, 'attempts') } or { own.state })
