-- change.override.v1: approve a change in an emergency, without its reviewers. The reason is needed. The change keeps a mark for ever, and
-- `decided_by` says `override:<actor>`. Who has written the change may not override it, unless its policy lets contributors vote.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   rev          int 1..1000000000
-- ARGV   digest       bytes 40..40
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   reason       bytes 1..4096
-- ARGV   proof        bytes 0..200      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN approved     now_ms:int rev:int
-- RETURN not_eligible now_ms:int reason:text
-- RETURN outdated     now_ms:int state:text rev:int digest:text
-- RETURN state        now_ms:int state:text rev:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.overridden change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   override
-- REPLAY rid
-- COST   17 commands and 2 for each open request; at most 1,900 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
local before = replayed_one(ctx, 'override')
if before then return before end
ctx.caller, ctx.proof = caller, proof
local own = load_change(ctx, id)
if not own then return told(ctx, 'override', nil, { 'not_found' }) end
if own.state ~= 'submitted' and own.state ~= 'reviewing' then return told(ctx, 'override', own, { 'state', own.state, own.rev }) end
if rev ~= own.rev or digest ~= own.digest then return told(ctx, 'override', own, { 'outdated', own.state, own.rev, own.digest }) end
if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(id, { actor, person }) then
  return told(ctx, 'override', own, { 'not_eligible', 'contributor' })
end
set_field(own, 'overridden_rev', rev)
set_field(own, 'overridden_by', person)
record_step(ctx, own, 'change.overridden', actor, 'for=' .. person, reason)
approve(ctx, own, 'override:' .. actor, reason)
return told(ctx, 'override', own, { 'approved', own.rev })
