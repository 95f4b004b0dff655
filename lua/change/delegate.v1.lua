-- change.delegate.v1: let another person answer a request in place of its reviewer; or take it back: `to` is then empty, and the request
-- goes to the actor who has delegated it, or from the actor back to whoever had it before. Only a person delegates, not a group. The
-- delegations of the other person lead it on at once, so `reviewer` may be another; what is taken back stays with that person. The
-- request stays one slot, and its chain says who has delegated it. Who has answered or delegated another request of the round delegates none:
-- `answered`.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   slot         int 0..100000     ?=0
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   to           label             ?=
-- ARGV   reason       bytes 0..4096     ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN ok           now_ms:int slot:int reviewer:text
-- RETURN cycle        now_ms:int
-- RETURN too_deep     now_ms:int depth:int
-- RETURN not_eligible now_ms:int reason:text
-- RETURN closed       now_ms:int state:text
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.delegated change.outdated change.reviewing change.reminded change.escalated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   review
-- REPLAY rid
-- COST   17 commands; at most 4,200 commands, 210,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
if #to > 195 then return refuse('to', to, 'at most 195 characters, as in user:<id>') end
refused = refuse_hidden('to', to)
if refused then return refused end
local before = replayed_one(ctx, 'delegate')
if before then return before end
ctx.caller = caller
local own = load_change(ctx, id)
if not own then return told(ctx, 'delegate', nil, { 'not_found' }) end
settle_requests(ctx, own)
local one = find_asked(own, slot)
if not one or not is_asked(one, actor) then return told(ctx, 'delegate', own, { 'not_eligible', 'not_reviewer' }) end
if one.status ~= 'pending' then return told(ctx, 'delegate', own, { 'closed', own.state }) end

local from, reviewer, chain, via = one.reviewer, 'user:' .. to, one.chain .. '>' .. actor, one.via .. '>'
if to ~= '' then
  local refusal = from ~= 'user:' .. actor and { 'not_eligible', 'not_reviewer' } or delegate_to(ctx, own, one, to, person)
  if refusal then return told(ctx, 'delegate', own, refusal) end
  hand_on(ctx, own, one, reviewer, chain, via)
  if kind == 'agent' then note_giver(own, one, chain, person) end
elseif one.chain == '' then
  return told(ctx, 'delegate', own, { 'not_eligible', 'not_delegated' })
else
  reviewer, chain, via = taken_back(one)
  leave_place(own, one)
  take_place(ctx, own, one, reviewer, chain, via)
end
record_step(ctx, own, 'change.delegated', actor, 'slot=' .. one.slot .. ' from=' .. from .. ' to=' .. reviewer, reason)
if one.reviewer ~= reviewer then record_led(ctx, own, one, reviewer) end
return told(ctx, 'delegate', own, { 'ok', tonumber(one.slot), one.reviewer })
