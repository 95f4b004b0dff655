-- led_by(ctx, person): to whom the delegations of a person lead. A call reads each person once, and 128 of them.
local function led_by(ctx, person)
  local list = ctx.led[person]
  if list then return list end
  list = {}
  local stored = ctx.persons < 128 and redis.call('HGETALL', delegations .. person) or {}  -- at most 17: delegations of a person, and `#at`
  for at = 2, #stored, 2 do list[#list + 1] = string.match(stored[at], '^to=(%S+)') end
  ctx.led[person], ctx.persons = list, ctx.persons + 1
  return list
end
