-- queue.set_weights.v1: set the weights of users in a queue with fair shares (`fair` of configure): a user with 200
-- percent starts two tasks for each task of a user with 100, while both have tasks waiting. 0 removes the weight, which
-- means 100. It applies to tasks that are enqueued from now on.
--
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   user      label
-- ITEM   weight_pct int 0..10000
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  weight.set
-- ROLE   operate
-- REPLAY rid
-- COST   8 + 2n commands, O(n); at most 2,300 commands, 26,000 steps

local ctx, refused = open()
if refused then return refused end
if not done_before(ctx, 'set_weights') then
  if not ctx.exists then create_base() end
  for i, user in ipairs(item_user) do
    if item_weight_pct[i] > 0 then
      redis.call('HSET', weights, user, item_weight_pct[i])
    else
      redis.call('HDEL', weights, user)
    end
    emit(ctx, 'weight.set', user, 'weight_pct=' .. item_weight_pct[i])
  end
  note_done(ctx, 'set_weights', 'done')
end
return { 'ok', ctx.now }
