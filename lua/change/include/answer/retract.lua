-- retract(ctx, own, one, reason): take back the answer to a request. If it was an approval of an approved change, a new round begins. If it
-- was the last that kept a change from being approved, it is approved.
local function retract(ctx, own, one, reason)
  record_step(ctx, own, 'change.answered', actor, 'slot=' .. one.slot .. ' action=retract for=' .. one.by, reason)
  if own.state == 'approved' then
    open_round(ctx, own, actor, 'retracted')
  else
    open_request(ctx, own, one)
    recheck_later(ctx, one)
    redis.call('ZADD', inboxes .. one.reviewer, inbox_score(own), own.id .. '/' .. one.slot)
    if decide(ctx, own, actor) then return { 'approved', own.state, own.round } end
  end
  return { 'recorded', own.state, own.round }
end
