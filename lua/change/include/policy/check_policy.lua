-- check_policy(ctx, own): return an error if the fields of a policy contradict each other.
local function check_policy(ctx, own)
  if own.remove then
    if #own > 2 then return refuse('remove', 1, 'given alone') end
    return nil
  end
  if not own.required then return refuse('required', '', 'a number of approvals; there is no default') end
  if not own.escalate_to ~= not own.escalate_ms then return refuse('escalate_ms', own.escalate_ms, 'given with escalate_to, and only so') end
  local refused
  if own.on_timeout and not own.timeout_approve_below then
    return refuse('timeout_approve_below', '', 'the risk below which a timeout approves')
  end
  if (own.timeout_ms or 0) > ctx.settings.max_timeout_ms then
    return refuse('timeout_ms', own.timeout_ms, 'at most the setting max_timeout_ms, ' .. ctx.settings.max_timeout_ms)
  end
  refused = check_follows(own)
  if refused then return refused end
  return check_reviewers('reviewers', own.reviewers or {}) or check_reviewers('escalate_to', own.escalate_to or {})
end
