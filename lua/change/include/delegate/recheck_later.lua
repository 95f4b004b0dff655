-- recheck_later(ctx, one): a request is open again, and delegations may have begun or ended since it was answered, or before its review
-- began: the next call that asks whose it is looks at them.
local function recheck_later(ctx, one)
  local person = ctx.settings.delegations and string.match(one.reviewer, '^user:(.+)$')
  if not person then return end
  for name in string.gmatch(person .. one.chain, '[^>]+') do  -- at most 5: delegation_depth and a reviewer
    redis.call('ZADD', delegating, ctx.now_text, name)
    ctx.late[name] = true
  end
end
