-- check_policy(ctx, given): return an error if the fields of a policy contradict each other.
local function check_policy(ctx, given)
  if given.remove then
    if #given > 2 then return refuse('remove', 1, 'given alone') end
    return nil
  end
  if not given.required then return refuse('required', '', 'a number of approvals; there is no default') end
  if not given.escalate_to ~= not given.escalate_ms then return refuse('escalate_ms', given.escalate_ms, 'given with escalate_to, and only so') end
  local refused
  if given.on_timeout == 'approve' and not given.timeout_approve_below then
    return refuse('timeout_approve_below', '', 'the risk below which a timeout approves')
  end
  if (given.timeout_ms or 0) > ctx.settings.max_timeout_ms then
    return refuse('timeout_ms', given.timeout_ms, 'at most the setting max_timeout_ms, ' .. ctx.settings.max_timeout_ms)
  end
  refused = check_follows(given)
  if refused then return refused end
  return check_reviewers('reviewers', given.reviewers or {}) or check_reviewers('escalate_to', given.escalate_to or {})
end
