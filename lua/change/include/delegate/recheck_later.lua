-- recheck_later(ctx, one): a request is open again, and delegations may have begun or ended since it was answered, or before its review
-- began: the next step of delegations looks at it.
local function recheck_later(ctx, one)
  local person = ctx.settings.delegations and string.match(one.reviewer, '^user:(.+)$')
  if not person then return end
  redis.call('ZADD', delegating, ctx.now_text, person)
  for giver in string.gmatch(one.chain, '[^>]+') do redis.call('ZADD', delegating, ctx.now_text, giver) end  -- at most 4: delegation_depth
end
