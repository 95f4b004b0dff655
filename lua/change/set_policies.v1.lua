-- change.set_policies.v1: store policies of review, or remove them. A change takes a copy of its policy when it is submitted, so what is
-- stored here later does not touch it. Each version has a number of its own in the domain.
-- `required` approvals approve, `rejections` reject (0: only when the quorum cannot be reached). `reviewers` are asked for each change.
-- `needs`: what must be assessed before people are asked. Nobody has answered: every `remind_ms` an event; after `escalate_ms` the next
-- of `escalate_to` is asked, too; after `timeout_ms` (or the setting) the change is rejected, or approved if its risk is below
-- `timeout_approve_below`. A risk below `auto_below` approves without people, unless the change has one of `deny_tags`. An approval lasts
-- `approval_ms`, and may be tried `max_attempts` times. `approved_kind` and so on: the task that follows this step.
-- A domain has at most 1,000 policies.
--
-- ARGV   rid          id
-- ARGV   actor        label            ?=
-- ARGV   caller       label            ?=
-- ARGV   source       bytes 0..200     ?=
-- ARGV   trace        bytes 0..128     ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   name         name
-- PAIR   remove       bool             ?=0
-- PAIR   required     int 1..32
-- PAIR   rejections   int 0..32        ?=1
-- PAIR   reviewers    labels 1..16
-- PAIR   contributors_may_vote bool    ?=0
-- PAIR   agents_may_vote bool          ?=0
-- PAIR   needs        enum none|risk|preview|both ?=none
-- PAIR   remind_ms    int 1000..31536000000
-- PAIR   escalate_ms  int 1000..31536000000
-- PAIR   escalate_to  labels 1..3
-- PAIR   timeout_ms   int 1000..31536000000
-- PAIR   on_timeout   enum reject|approve ?=reject
-- PAIR   timeout_approve_below int 1..101
-- PAIR   auto_below   int 0..101       ?=0
-- PAIR   deny_tags    labels 1..16
-- PAIR   approval_ms  int 1000..31536000000 ?=604800000
-- PAIR   max_attempts int 1..100       ?=3
-- PAIR   delegation_depth int 0..4     ?=3
-- PAIR   approved_kind label
-- PAIR   approved_lane lane ?=any
-- PAIR   approved_priority int 0..9 ?=5
-- PAIR   rejected_kind label
-- PAIR   rejected_lane lane ?=any
-- PAIR   rejected_priority int 0..9 ?=5
-- PAIR   changes_requested_kind label
-- PAIR   changes_requested_lane lane ?=any
-- PAIR   changes_requested_priority int 0..9 ?=5
-- PAIR   completed_kind label
-- PAIR   completed_lane lane ?=any
-- PAIR   completed_priority int 0..9 ?=5
-- PAIR   failed_kind label
-- PAIR   failed_lane lane ?=any
-- PAIR   failed_priority int 0..9 ?=5
-- PAIR   cancelled_kind label
-- PAIR   cancelled_lane lane ?=any
-- PAIR   cancelled_priority int 0..9 ?=5
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         stored version:int
-- EACH   item         same version:int
-- EACH   item         removed
-- EACH   item         unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  policy.put policy.removed
-- ROLE   operate
-- REPLAY rid
-- COST   7 commands and 4 for each policy; at most 450 commands, 87,000 steps

local ctx, refused = open()
if refused then return refused end
refused = refuse_hidden('actor', actor)
if refused then return refused end
local before = replayed_reply(ctx, 'set_policies')
if before then return { 'ok', ctx.now, before } end
for i = 1, item_count do
  refused = check_policy(ctx, item_pairs[i])
  if refused then return refused end
end
refused = check_room()
if refused then return refused end
if not ctx.exists then create_base() end
ctx.made = true
local answers = {}
for i, name in ipairs(item_name) do
  local own, stored = item_pairs[i], redis.call('HGET', policies, name) or ''
  local version, old = string.match(stored, '^version=(%d+) (.*)$')
  if own.remove then
    answers[i] = { version and 'removed' or 'unknown' }
    if version then
      redis.call('HDEL', policies, name)
      emit(ctx, 'policy.removed', name, string.sub(acted_by(), 2))
    end
  elseif old == policy_text(own) then
    answers[i] = { 'same', tonumber(version) }
  else
    version = redis.call('HINCRBY', config, 'policy_version', 1)
    redis.call('HSET', policies, name, 'version=' .. version .. ' ' .. policy_text(own))
    emit(ctx, 'policy.put', name, 'version=' .. version .. acted_by())
    answers[i] = { 'stored', version }
  end
end
note_reply(ctx, 'set_policies', answers)
return { 'ok', ctx.now, answers }
