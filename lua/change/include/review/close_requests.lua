-- close_requests(own, status): close the requests that nobody has answered: expired or cancelled.
local function close_requests(own, status)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then
      one.status, own.list_changed = status, true
      if one.chain ~= '' then leave_away(own, one) end
      redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'status', status)
    end
  end
end
