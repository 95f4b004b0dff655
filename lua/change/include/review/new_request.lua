-- new_request(ctx, own, one, name): make a request, and open it. name: of the reviewer, for people, or ''.
local function new_request(ctx, own, one, name)
  redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'reviewer', one.reviewer, 'reviewer_name', name, 'priority', own.review_priority)
  redis.call('ZADD', by_reviewer .. one.reviewer, own.created_ms, own.id)
  open_request(ctx, own, one)
end
