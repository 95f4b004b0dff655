-- change.assess.v1: store the risk of a revision, its preview, or both. Who has written the change may not assess it. A submitted change
-- that has all that its policy needs goes on: to review, or at once to `approved` if the policy lets a low risk pass. In review, the
-- requests only move in their inboxes.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   rev          int 1..1000000000
-- ARGV   digest       bytes 40..40
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   score        int -1..100       ?=-1
-- ARGV   factors      bytes 0..8192     ?=
-- ARGV   auto_approvable bool           ?=0
-- ARGV   assessed_by  bytes 0..200      ?=
-- ARGV   preview      bytes 0..65536    ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN ok           now_ms:int state:text level:text
-- RETURN not_eligible now_ms:int reason:text
-- RETURN outdated     now_ms:int state:text rev:int digest:text
-- RETURN state        now_ms:int state:text rev:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.assessed change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   assess
-- REPLAY rid
-- COST   17 commands and 1 for each open request; at most 2,800 commands, 200,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
if score < 0 and preview == '' then return refuse('score', score, 'a number from 0 to 100, unless there is a preview') end
local before = replayed_one(ctx, 'assess')
if before then return before end
ctx.caller = caller
local own = load_change(ctx, id)
if not own then return told(ctx, 'assess', nil, { 'not_found' }) end
if own.state ~= 'draft' and own.state ~= 'submitted' and own.state ~= 'reviewing' then
  return told(ctx, 'assess', own, { 'state', own.state, own.rev })
end
if rev ~= own.rev or digest ~= own.digest then return told(ctx, 'assess', own, { 'outdated', own.state, own.rev, own.digest }) end
if has_written(id, { actor, person }) then return told(ctx, 'assess', own, { 'not_eligible', 'contributor' }) end

local level = 'none'
if preview ~= '' then
  redis.call('SET', previews .. id, preview, 'PX', WAIT_preview_ms)
  set_field(own, 'preview_rev', rev)
  set_field(own, 'preview_until_ms', ctx.now + WAIT_preview_ms)
end
if score >= 0 then
  level = level_of(ctx, score)
  set_field(own, 'risk_score', score)
  set_field(own, 'risk_level', level)
  set_field(own, 'risk_factors', factors)
  set_field(own, 'auto_approvable', auto_approvable and '1' or '0')
  set_field(own, 'assessed_ms', ctx.now)
  set_field(own, 'assessed_by', assessed_by)
  set_field(own, 'risk_rev', rev)
end
record_step(ctx, own, 'change.assessed', actor, score >= 0 and 'score=' .. score .. ' level=' .. level or '', '')
if own.state == 'reviewing' then enter_inboxes(own) end
if own.state == 'submitted' and is_assessed(ctx, own) then
  begin_review(ctx, own, actor)
  if own.state == 'reviewing' then open_requests(ctx, own) end
end
settle_requests(ctx, own, true)
return told(ctx, 'assess', own, { 'ok', own.state, level })
