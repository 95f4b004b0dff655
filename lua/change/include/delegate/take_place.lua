-- take_place(ctx, own, one, reviewer, chain, via, before): a pending request has this reviewer from now on, and these have delegated it, by these
-- delegations. before: its chain and delegations until now, if `one` has others already.
local function take_place(ctx, own, one, reviewer, chain, via, before)
  local id = own.id .. '/' .. one.slot
  keep_principals(own, one, before or one, chain, via)
  one.reviewer, one.chain, one.via, own.list_changed = reviewer, chain, via, true
  if own.state == 'reviewing' then redis.call('ZADD', inboxes .. reviewer, inbox_score(own), id) end
  join_people(own, one)
  redis.call('HSET', requests .. id, 'assigned_ms', ctx.now_text, 'delegated_to', chain ~= '' and reviewer or '', 'delegation_chain',
    (string.gsub(string.sub(chain, 2), '>', ',')), 'via', (string.gsub(via, '>', ',')))
end
