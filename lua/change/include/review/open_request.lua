-- open_request(ctx, own, one): open a request for an answer to this revision, in this round.
local function open_request(ctx, own, one)
  one.status, one.by, one.sender, own.list_changed = 'pending', '', '', true
  if one.chain ~= '' then join_people(own, one) end
  redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'status', 'pending', 'round', own.round, 'rev', own.rev, 'digest', own.digest,
    'created_ms', ctx.now_text, 'assigned_ms', ctx.now_text, 'due_ms', own.timeout_at_ms, 'responded_ms', '', 'response_action', '',
    'response_reason', '', 'reviewed_by', '', 'principal', '')
end
