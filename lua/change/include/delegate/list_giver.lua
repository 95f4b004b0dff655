-- list_giver(person, to): list a person with the one to whom its delegations lead, until the last of them ends.
local function list_giver(person, to)
  local last, stored = 0, redis.call('HGETALL', delegations .. person)  -- at most 17: delegations of a person, and `#at`
  for at = 2, #stored, 2 do
    local fields = delegation_fields(stored[at])
    if fields.to == to then last = math.max(last, fields.until_ms == '0' and MAX_SAFE or tonumber(fields.until_ms)) end
  end
  if last == 0 then
    redis.call('ZREM', givers .. to, person)
  else
    redis.call('ZADD', givers .. to, string.format('%.0f', last), person)
  end
end
