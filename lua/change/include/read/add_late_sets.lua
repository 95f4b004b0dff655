-- add_late_sets(ctx, sets, user): add the sets with requests that belong to this user, but were not moved there yet: what it has delegated, and
-- the inboxes of those whose delegations lead here. It looks at 64 persons, and adds the sets of 16; a sweep brings the others.
local function add_late_sets(ctx, sets, user)
  if is_late(ctx, user) then sets[#sets + 1] = away .. user end
  local late = redis.call('ZRANGE', delegating, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, 64)
  if not late[1] then return end
  local seen, left, added = { [user] = true }, { user }, 0
  for at = 1, 64 do  -- at most 64: persons
    local person = left[at]
    if not person or added == 16 then return end
    if at > 1 and is_late(ctx, person) then
      sets[#sets + 1] = inboxes .. 'user:' .. person
      sets[#sets + 1] = away .. person
      added = added + 1
    end
    for _, giver in ipairs(givers_to(ctx, person, late)) do  -- at most 128: late ones and others
      if not seen[giver] then left[#left + 1] = giver end
      seen[giver] = true
    end
  end
end
