-- new_request(ctx, own, one, name): make a request, and open it: for the reviewer, or for the person to whom policies of delegation lead
-- from there. name: of the reviewer, for people, or ''.
local function new_request(ctx, own, one, name)
  local key = requests .. own.id .. '/' .. one.slot
  one.via = ''
  redis.call('HSET', key, 'reviewer', one.reviewer, 'reviewer_name', name, 'priority', text_of(own, 'review_priority'))
  if ctx.settings.delegations then follow_delegations(ctx, own, one) end
  local chain = string.gsub(string.sub(one.chain, 2), '>', ',')
  if chain ~= '' then
    redis.call('HSET', key, 'delegated_to', one.reviewer, 'delegation_chain', chain, 'via', (string.gsub(one.via, '>', ',')))
  end
  join_people(own, one)
  open_request(ctx, own, one)
  if chain ~= '' then
    record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' to=' .. one.reviewer .. ' chain=' .. chain, '')
  end
end
