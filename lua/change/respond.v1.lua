-- change.respond.v1: answer requests, at most 100 in a call. An answer names the revision and the digest that the reviewer has seen. It
-- counts for the request of this slot, or for any request of the actor or of its groups. One person fills one slot in a round, and a
-- contributor none. A request belongs to a delegate only while the delegation holds now: its time, and its conditions for this revision.
-- Who has delegated a request, by hand or by a stored delegation, or whose agent has, answers no other one, and nobody answers what one has
-- delegated who is behind another answer: `answered`. Behind an answer are its person and the agent that has sent it. `retract` takes an
-- answer back; of an approved change, that begins a new round. `request_changes` keeps a change from being approved until the same person
-- answers again. `comment` only writes into the log.
-- A task that the policy wants after a step is enqueued at once, if the queue of the settings is in the same slot; else it waits in the
-- outbox. If another task has its id, it gets another id, and there is an event.
-- `later`: the conditions of delegations have taken long to compare; send these items in another call. The first item is always answered.
--
-- ARGV   rid          id
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   groups       labels 0..32      ?=
-- ARGV   proof        bytes 0..200      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   id           name
-- ITEM   rev          int 1..1000000000
-- ITEM   digest       bytes 40..40
-- ITEM   action       enum approve|reject|request_changes|comment|abstain|retract
-- ITEM   slot         int 0..100000     ?=0
-- ITEM   reason       bytes 0..4096     ?=
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         recorded state:text round:int
-- EACH   item         approved state:text round:int
-- EACH   item         rejected state:text round:int
-- EACH   item         commented
-- EACH   item         same
-- EACH   item         closed state:text why:text by:text
-- EACH   item         not_eligible reason:text
-- EACH   item         outdated rev:int digest:text
-- EACH   item         state state:text
-- EACH   item         full
-- EACH   item         not_found
-- EACH   item         later
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.answered change.changes_requested change.commented change.outdated change.reviewing change.reminded change.escalated change.delegated
-- EVENT  change.rejected change.approved change.released change.failed change.cancelled
-- EVENT  task.enqueued task.unblocked task.dead task.cancelled task.limited
-- ROLE   review
-- REPLAY rid
-- USES   queue
-- COST   5 commands and 13 for each answer, 2 for each open request of a change that it decides; at most 39,000 commands, 1,600,000 steps
-- EARLY  answer find_request has_written count_answer decide count_slots note_follow

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
for i, action in ipairs(item_action) do  -- at most 100: items
  if action == 'comment' and item_reason[i] == '' then return refuse('item[' .. i .. '].reason', '', 'the text of the comment') end
end
local before = replayed_reply(ctx, 'respond')
if before then return { 'ok', ctx.now, before } end
if item_count > 1 and not ctx.settings.batch_approvals then
  return refuse('item', item_count .. ' items', 'one item, because the setting batch_approvals is off')
end

ctx.caller, ctx.proof, ctx.follows = caller, proof, {}
local answers = {}
for i, id in ipairs(item_id) do
  if looked_enough(ctx) then
    answers[i] = { 'later' }
  else
    local own = load_change(ctx, id)
    answers[i] = own and answer(ctx, own, i, person) or { 'not_found' }
    if own then save_change(ctx, own) end
  end
end
take_others(ctx, 10)
if #ctx.follows > 0 then send_follows(ctx) end
note_reply(ctx, 'respond', answers)
return { 'ok', ctx.now, answers }
