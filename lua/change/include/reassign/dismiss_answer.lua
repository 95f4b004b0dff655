-- dismiss_answer(ctx, own, one): an answer does not count, and its request is pending again.
local function dismiss_answer(ctx, own, one)
  open_request(ctx, own, one)
  recheck_later(ctx, one)
  redis.call('ZADD', inboxes .. one.reviewer, inbox_score(own), own.id .. '/' .. one.slot)
end
