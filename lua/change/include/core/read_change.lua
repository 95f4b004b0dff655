-- read_change(id, new): the fields of a change that scripts work with. If there is none: nil, or with `new` one without values. A text
-- that is not stored is '', a number 0. set_field notes what changes, and save_change stores it.
local function read_change(id, new)
  local texts = { 'state', 'digest', 'author', 'slots', 'resources', 'team', 'tags', 'decided_by', 'why', 'token', 'agent', 'auto_approvable',
    'cancelling', 'policy', 'p_needs', 'p_on_timeout', 'p_escalate_to', 'p_deny_tags', 'p_contributors_may_vote', 'p_agents_may_vote', 'p_follows', 'review_priority', 'type' }
  local numbers = { 'rev', 'round', 'seq', 'created_ms', 'timeout_at_ms', 'remind_at_ms', 'escalate_at_ms', 'until_ms', 'deadline_ms',
    'started_ms', 'run_ms', 'fence', 'attempts', 'risk_score', 'risk_rev', 'preview_rev', 'weight', 'level', 'p_required', 'p_rejections',
    'p_remind_ms', 'p_escalate_ms', 'p_timeout_ms', 'p_timeout_approve_below', 'p_auto_below', 'p_approval_ms', 'p_max_attempts', 'p_delegation_depth' }
  local row = redis.call('HMGET', change .. id, unpack(texts))  -- at most 23: texts
  if not row[1] and not new then return nil end
  local own = { id = id, changed = {} }
  for i, name in ipairs(texts) do own[name] = row[i] or '' end
  row = redis.call('HMGET', change .. id, unpack(numbers))  -- at most 28: numbers
  for i, name in ipairs(numbers) do own[name] = tonumber(row[i] or 0) end
  own.due_ms = due_of(own)
  return own
end
