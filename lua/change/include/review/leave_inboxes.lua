-- leave_inboxes(own): take the pending requests of a change out of all inboxes.
local function leave_inboxes(own)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end
  end
end
