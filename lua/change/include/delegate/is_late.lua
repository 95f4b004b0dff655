-- is_late(ctx, person): whether delegations of this person have begun, ended or changed since its requests were moved; or one of its requests
-- has opened.
local function is_late(ctx, person)
  if ctx.late[person] == nil then
    local since = redis.call('ZSCORE', delegating, person)
    ctx.late[person] = since and tonumber(since) <= ctx.now or false
  end
  return ctx.late[person]
end
