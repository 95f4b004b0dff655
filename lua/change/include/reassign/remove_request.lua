-- remove_request(own, one): delete a request, answered or not.
local function remove_request(own, one)
  if own.state == 'reviewing' and one.status == 'pending' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end
  drop_request(own, one)
  local _, at = find_slot(own, tonumber(one.slot))
  table.remove(own.list, at)
  own.list_changed = true
  index_reviewers(own)
end
