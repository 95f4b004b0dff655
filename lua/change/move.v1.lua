-- change.move.v1: withdraw a change from review or from its approval (a draft again), reopen one that has failed or was rejected (a draft
-- again), or cancel it for good. A run that has begun is only asked to stop: `cancelling`. Only contributors may do it.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   to           enum withdraw|cancel|reopen
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   reason       bytes 0..4096     ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN draft        now_ms:int rev:int
-- RETURN cancelled    now_ms:int rev:int
-- RETURN cancelling   now_ms:int rev:int
-- RETURN forbidden    now_ms:int
-- RETURN state        now_ms:int state:text rev:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.withdrawn change.reopened change.cancelling change.outdated change.reviewing change.reminded change.escalated change.delegated
-- EVENT  change.rejected change.approved change.released change.failed change.cancelled
-- ROLE   author
-- REPLAY rid
-- COST   17 commands and 2 for each open request; at most 1,900 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
local before = replayed_one(ctx, 'move')
if before then return before end
ctx.caller = caller
local own = load_change(ctx, id)
if not own then return told(ctx, 'move', nil, { 'not_found' }) end
if not has_written(id, { actor, person }) then return told(ctx, 'move', own, { 'forbidden' }) end

local state = own.state
local in_review = state == 'submitted' or state == 'reviewing' or state == 'approved'
if to == 'withdraw' and in_review then
  move_to(ctx, own, 'draft')
  record_step(ctx, own, 'change.withdrawn', actor, '', reason)
elseif to == 'reopen' and (state == 'failed' or state == 'rejected') then
  reopen(ctx, own)
  record_step(ctx, own, 'change.reopened', actor, '', reason)
elseif to == 'cancel' and (in_review or state == 'draft') then
  set_field(own, 'why', 'cancelled')
  move_to(ctx, own, 'cancelled')
  record_step(ctx, own, 'change.cancelled', actor, '', reason)
elseif to == 'cancel' and state == 'applying' then
  set_field(own, 'cancelling', '1')
  record_step(ctx, own, 'change.cancelling', actor, '', reason)
  return told(ctx, 'move', own, { 'cancelling', own.rev })
else
  return told(ctx, 'move', own, { 'state', state, own.rev })
end
return told(ctx, 'move', own, { own.state, own.rev })
