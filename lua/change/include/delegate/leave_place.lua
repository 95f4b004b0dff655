-- leave_place(own, one): take a pending request from those who have it or have delegated it.
local function leave_place(own, one)
  if own.state == 'reviewing' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end
  leave_people(own, one)
end
