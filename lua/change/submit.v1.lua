-- change.submit.v1: ask for a review of a draft, by a policy. The change copies the policy, and makes a request for each of its reviewers
-- and of this call: `user:<id>` for a person, `group:<name>` for one person of a group; a group may be named several times. Contributors
-- are left out. `unreachable`: fewer could answer than the policy requires. The change waits as `submitted` for what the policy needs,
-- and is then `reviewing`, or at once `approved` if the policy lets a low risk pass. `timeout_ms` does not shorten a review whose timeout
-- may approve the change.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   rev          int 1..1000000000
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   policy       name
-- ARGV   priority     enum low|normal|high|urgent ?=normal
-- ARGV   timeout_ms   int 0..31536000000 ?=0
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   reviewer     label
-- PAIR   name         bytes 1..200
-- GROUP  item         0..32
-- RETURN submitted    now_ms:int rev:int round:int digest:text
-- RETURN reviewing    now_ms:int rev:int round:int digest:text
-- RETURN approved     now_ms:int rev:int round:int digest:text
-- RETURN unreachable  now_ms:int required:int eligible:int
-- RETURN no_policy    now_ms:int
-- RETURN forbidden    now_ms:int
-- RETURN outdated     now_ms:int state:text rev:int digest:text
-- RETURN state        now_ms:int state:text rev:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.submitted change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   author
-- REPLAY rid
-- COST   17 commands and 5 for each reviewer; at most 2,100 commands, 15,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
refused = check_reviewers('reviewer', item_reviewer)
if refused then return refused end
local before = replayed_one(ctx, 'submit')
if before then return before end
if timeout_ms > ctx.settings.max_timeout_ms then
  return refuse('timeout_ms', timeout_ms, 'at most the setting max_timeout_ms, ' .. string.format('%.0f', ctx.settings.max_timeout_ms))
end
local fields = read_policy(policy)
local named = fields and select(2, string.gsub(fields.reviewers, '[^,]+', '')) or 0
if named + item_count > 32 then return refuse('reviewer', named + item_count, 'at most 32, with those of the policy') end

ctx.caller = caller
local own = load_change(ctx, id)
if not own then return told(ctx, 'submit', nil, { 'not_found' }) end
if own.state ~= 'draft' then return told(ctx, 'submit', own, { 'state', own.state, own.rev }) end
if rev ~= own.rev then return told(ctx, 'submit', own, { 'outdated', own.state, own.rev, own.digest }) end
if not has_written(id, { actor, person }) then return told(ctx, 'submit', own, { 'forbidden' }) end
if not fields then return told(ctx, 'submit', own, { 'no_policy' }) end
local list = list_reviewers(own, fields)
if #list < tonumber(fields.required) then return told(ctx, 'submit', own, { 'unreachable', tonumber(fields.required), #list }) end

copy_policy(ctx, own, fields)
set_field(own, 'round', own.round + 1)
set_field(own, 'submitted_ms', ctx.now)
set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
set_field(own, 'asked_ms', 0)
set_field(own, 'denied', '0')
set_field(own, 'decided_by', '')
set_field(own, 'why', '')
move_to(ctx, own, 'submitted')
record_step(ctx, own, 'change.submitted', actor, 'policy=' .. text_of(own, 'policy'), '')
replace_requests(ctx, own, list)
if is_assessed(ctx, own) then begin_review(ctx, own, actor) end
return told(ctx, 'submit', own, { own.state, own.rev, own.round, own.digest })
