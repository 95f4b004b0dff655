-- answer(ctx, own, i, person): give the answer of item i to a request of this change, and decide the review if that is enough.
local function answer(ctx, own, i, person)
  local action, reason = item_action[i], item_reason[i]
  if action == 'comment' then return comment(ctx, own, reason) end
  if own.state == 'draft' or own.state == 'submitted' then return { 'state', own.state } end
  if own.state ~= 'reviewing' and not (own.state == 'approved' and action == 'retract') then
    return { 'closed', own.state, text_of(own, 'why'), text_of(own, 'decided_by') }
  end
  if item_rev[i] ~= own.rev or item_digest[i] ~= own.digest then return { 'outdated', own.rev, own.digest } end
  local moves = resolve_requests(ctx, own)
  local one, why = find_request(ctx, own, item_slot[i], person, action)
  keep_moves(ctx, own, moves, one)
  if not one then return { 'not_eligible', why } end
  local status = ({ approve = 'approved', reject = 'rejected', request_changes = 'changes_requested', abstain = 'abstained' })[action]
  if one.status == (status or 'pending') then return { 'same' } end
  if own.state == 'approved' and one.status ~= 'approved' then return { 'closed', own.state, text_of(own, 'why'), text_of(own, 'decided_by') } end
  if not status then return retract(ctx, own, one, reason) end

  local key, since_ms = requests .. own.id .. '/' .. one.slot, nil
  if one.status == 'pending' then
    since_ms = redis.call('HGET', key, 'assigned_ms')
    redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot)
    if one.chain ~= '' then leave_away(own, one) end
  end
  one.status, one.by, one.sender, own.list_changed = status, person, actor ~= person and actor or '', true
  redis.call('HSET', key, 'status', status, 'responded_ms', ctx.now_text, 'response_action', action, 'response_reason', reason,
    'reviewed_by', actor, 'principal', person)
  count_answer(ctx, action, since_ms)
  record_step(ctx, own, 'change.answered', actor, 'slot=' .. one.slot .. ' action=' .. action .. ' for=' .. person, reason)
  if action == 'request_changes' then record_step(ctx, own, 'change.changes_requested', actor, 'slot=' .. one.slot, reason) end
  return { decide(ctx, own, actor) or 'recorded', own.state, own.round }
end
