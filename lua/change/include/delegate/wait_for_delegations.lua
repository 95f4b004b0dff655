-- wait_for_delegations(person, since): note when a delegation of this person begins or ends next, after this time.
local function wait_for_delegations(person, since)
  local next_ms = MAX_SAFE
  for _, name in ipairs(redis.call('HKEYS', delegations .. person)) do  -- at most 17: delegations of a person, and `#at`
    local fields = read_delegation(person, name)
    if fields.active == '1' then
      local from, till = tonumber(fields.from_ms), tonumber(fields.until_ms)
      if from > since then next_ms = math.min(next_ms, from) elseif till > since then next_ms = math.min(next_ms, till) end
    end
  end
  if next_ms == MAX_SAFE then
    redis.call('ZREM', delegating, person)
  else
    redis.call('ZADD', delegating, next_ms, person)
  end
end
