-- copy_policy(ctx, own, fields): the change keeps this policy, whatever happens to it later. A call may shorten the review, but not if its
-- end approves the change.
local function copy_policy(ctx, own, fields)
  for name, value in pairs(fields) do set_field(own, 'p_' .. name, value) end
  for _, name in ipairs({ 'required', 'rejections', 'remind_ms', 'escalate_ms', 'timeout_approve_below', 'auto_below', 'approval_ms',
    'max_attempts', 'delegation_depth' }) do
    own['p_' .. name] = tonumber(fields[name])
  end
  local usual = tonumber(fields.timeout_ms) > 0 and tonumber(fields.timeout_ms) or ctx.settings.default_timeout_ms
  local wanted = timeout_ms > 0 and timeout_ms or usual
  if fields.on_timeout == 'approve' then wanted = math.max(wanted, usual) end
  set_field(own, 'p_timeout_ms', math.min(wanted, ctx.settings.max_timeout_ms))
  set_field(own, 'policy', policy .. '@' .. fields.version)
  set_field(own, 'review_priority', priority)
  set_field(own, 'weight', ({ urgent = 1000, high = 500, normal = 100, low = 0 })[priority])
end
