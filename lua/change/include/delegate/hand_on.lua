-- hand_on(ctx, own, one, reviewer, chain): a pending request has another reviewer from now on, and these have delegated it.
local function hand_on(ctx, own, one, reviewer, chain)
  local id = own.id .. '/' .. one.slot
  if own.state == 'reviewing' then
    redis.call('ZREM', inboxes .. one.reviewer, id)
    redis.call('ZADD', inboxes .. reviewer, inbox_score(own), id)
  end
  for _, name in ipairs(people_of(one)) do redis.call('ZREM', by_reviewer .. name, own.id) end  -- at most 5: delegation_depth
  one.reviewer, one.chain, own.list_changed = reviewer, chain, true
  for _, name in ipairs(people_of(one)) do redis.call('ZADD', by_reviewer .. name, own.created_ms, own.id) end  -- at most 5: delegation_depth
  redis.call('HSET', requests .. id, 'assigned_ms', ctx.now_text, 'delegated_to', chain ~= '' and reviewer or '', 'delegation_chain',
    (string.gsub(string.sub(chain, 2), '>', ',')))
end
