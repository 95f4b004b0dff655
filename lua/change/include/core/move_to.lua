-- move_to(ctx, own, state): bring a change into another state. Leaving a review closes its open requests; an ended change is kept for
-- a time. The caller notes the step.
local function move_to(ctx, own, state)
  if own.state == 'reviewing' then leave_review(own) end
  if (own.state == 'submitted' or own.state == 'reviewing') and state ~= 'reviewing' and state ~= 'submitted' then
    close_requests(own, own.timeout_at_ms <= ctx.now and 'expired' or 'cancelled')
  end
  redis.call('ZREM', states .. own.state, own.id)
  redis.call('ZADD', states .. state, own.created_ms, own.id)
  if is_ended(state) then
    set_field(own, 'completed_ms', ctx.now)
    redis.call('ZADD', ended, ctx.now_text, own.id)
    for _, one in ipairs(slots_of(own)) do redis.call('PEXPIRE', requests .. own.id .. '/' .. one.slot, WAIT_request_ms) end
  end
  set_field(own, 'state', state)
end
