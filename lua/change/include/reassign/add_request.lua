-- add_request(ctx, own): add a request for the reviewer of this call.
local function add_request(ctx, own)
  local list = slots_of(own)
  local one = { slot = next_slot(list), reviewer = reviewer, chain = '' }
  list[#list + 1] = one
  new_request(ctx, own, one, name)
  if own.state == 'reviewing' then enter_inboxes(own) end
  return one
end
