-- change.reassign.v1: what an operator may do with the requests of a review, with a reason: `add` one for a reviewer, `remove` one, `move`
-- one that is pending to another reviewer, whose delegations lead it on at once, or `dismiss` an answer, so that the request is pending again. `unreachable`: fewer could answer
-- than the policy requires.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   operation       enum add|remove|move|dismiss
-- ARGV   slot         int 0..100000     ?=0
-- ARGV   reviewer     label             ?=
-- ARGV   name         bytes 0..200      ?=
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   reason       bytes 1..4096
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN ok           now_ms:int state:text slot:int
-- RETURN unreachable  now_ms:int required:int eligible:int
-- RETURN not_eligible now_ms:int reason:text
-- RETURN closed       now_ms:int state:text
-- RETURN full         now_ms:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.reassigned change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   operate
-- REPLAY rid
-- COST   17 commands; at most 4,200 commands, 210,000 steps

local ctx, refused = open()
if refused then return refused end
local wanted = operation == 'add' or operation == 'move'
if wanted ~= (reviewer ~= '') then return refuse('reviewer', reviewer, 'given with add and move, and only so') end
if (operation == 'add') ~= (slot == 0) then return refuse('slot', slot, 'a slot, unless one is added') end
refused = refuse_hidden('actor', actor) or wanted and check_reviewers('reviewer', { reviewer })
if refused then return refused end
local before = replayed_one(ctx, 'reassign')
if before then return before end
ctx.caller = caller
local own = load_change(ctx, id)
if not own then return told(ctx, 'reassign', nil, { 'not_found' }) end
if own.state ~= 'submitted' and own.state ~= 'reviewing' then return told(ctx, 'reassign', own, { 'closed', own.state }) end
settle_requests(ctx, own)
local one = find_slot(own, slot)
local refusal = refuse_reassign(own, one)
if refusal then return told(ctx, 'reassign', own, refusal) end

if operation == 'add' then one = add_request(ctx, own) end
if operation == 'remove' then remove_request(own, one) end
if operation == 'move' then move_request(ctx, own, one) end
if operation == 'dismiss' then dismiss_answer(ctx, own, one) end
record_step(ctx, own, 'change.reassigned', actor, 'slot=' .. one.slot .. ' operation=' .. operation .. (wanted and ' to=' .. reviewer or ''), reason)
if operation == 'move' and one.reviewer ~= reviewer then record_led(ctx, own, one, reviewer) end
if own.state == 'reviewing' then decide(ctx, own, actor) end
return told(ctx, 'reassign', own, { 'ok', own.state, tonumber(one.slot) })
