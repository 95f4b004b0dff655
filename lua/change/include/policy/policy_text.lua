-- policy_text(given): a policy as it is stored, with all fields, behind its version.
local function policy_text(given)
  local function list(names) return table.concat(names or {}, ',') end
  local function flag(value) return value and '1' or '0' end
  return table.concat({ 'required=' .. given.required, 'rejections=' .. (given.rejections or 1), 'reviewers=' .. list(given.reviewers),
    'contributors_may_vote=' .. flag(given.contributors_may_vote), 'agents_may_vote=' .. flag(given.agents_may_vote),
    'needs=' .. (given.needs or 'none'), 'remind_ms=' .. string.format('%.0f', given.remind_ms or 0),
    'escalate_ms=' .. string.format('%.0f', given.escalate_ms or 0), 'escalate_to=' .. list(given.escalate_to),
    'timeout_ms=' .. string.format('%.0f', given.timeout_ms or 0), 'on_timeout=' .. (given.on_timeout or 'reject'),
    'timeout_approve_below=' .. (given.timeout_approve_below or 0), 'auto_below=' .. (given.auto_below or 0),
    'deny_tags=' .. list(given.deny_tags), 'approval_ms=' .. string.format('%.0f', given.approval_ms or 604800000),
    'max_attempts=' .. (given.max_attempts or 3), 'delegation_depth=' .. (given.delegation_depth or 3),
    'follows=' .. list_follows(given) }, ' ')
end
