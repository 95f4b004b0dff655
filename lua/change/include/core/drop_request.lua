-- drop_request(own, one): delete a request, and the change from the indexes of its reviewers.
local function drop_request(own, one)
  redis.call('DEL', requests .. own.id .. '/' .. one.slot)
  leave_people(own, one)
end
