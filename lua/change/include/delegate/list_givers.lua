-- list_givers(ctx, person): list a person with all to whom its delegations lead: those of version 0.2.0 are listed nowhere.
local function list_givers(ctx, person)
  for _, one in ipairs(delegations_of(ctx, person)) do  -- at most 16: delegations of a person
    local last = one.fields.until_ms == '0' and MAX_SAFE or tonumber(one.fields.until_ms)
    redis.call('ZADD', givers .. one.fields.to, 'GT', string.format('%.0f', last), person)
  end
end
