-- move_request(ctx, own, one): give a pending request to the reviewer of this call, as if it had been the first.
local function move_request(ctx, own, one)
  hand_on(ctx, own, one, reviewer, '', '')
  redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'reviewer', reviewer, 'reviewer_name', name)
  index_reviewers(own)
end
