-- hand_on(ctx, own, one, reviewer, chain, via): a pending request has another reviewer from now on, and these have delegated it: by the
-- policies `via`, each behind a comma, which is empty where a person has done it.
local function hand_on(ctx, own, one, reviewer, chain, via)
  local id = own.id .. '/' .. one.slot
  if own.state == 'reviewing' then
    redis.call('ZREM', inboxes .. one.reviewer, id)
    redis.call('ZADD', inboxes .. reviewer, inbox_score(own), id)
  end
  leave_people(own, one)
  one.reviewer, one.chain, own.list_changed = reviewer, chain, true
  join_people(ctx, own, one)
  redis.call('HSET', requests .. id, 'assigned_ms', ctx.now_text, 'delegated_to', chain ~= '' and reviewer or '', 'delegation_chain',
    (string.gsub(string.sub(chain, 2), '>', ',')), 'via', via)
end
