-- policy_text(own): a policy as it is stored, with all fields, behind its version.
local function policy_text(own)
  local function list(names) return table.concat(names or {}, ',') end
  local function flag(value) return value and '1' or '0' end
  return table.concat({ 'required=' .. own.required, 'rejections=' .. (own.rejections or 1), 'reviewers=' .. list(own.reviewers),
    'contributors_may_vote=' .. flag(own.contributors_may_vote), 'agents_may_vote=' .. flag(own.agents_may_vote),
    'needs=' .. (own.needs or 'none'), 'remind_ms=' .. string.format('%.0f', own.remind_ms or 0),
    'escalate_ms=' .. string.format('%.0f', own.escalate_ms or 0), 'escalate_to=' .. list(own.escalate_to),
    'timeout_ms=' .. string.format('%.0f', own.timeout_ms or 0), 'on_timeout=' .. (own.on_timeout or 'reject'),
    'timeout_approve_below=' .. (own.timeout_approve_below or 0), 'auto_below=' .. (own.auto_below or 0),
    'deny_tags=' .. list(own.deny_tags), 'approval_ms=' .. string.format('%.0f', own.approval_ms or 604800000),
    'max_attempts=' .. (own.max_attempts or 3), 'delegation_depth=' .. (own.delegation_depth or 3),
    'follows=' .. list_follows(own) }, ' ')
end
