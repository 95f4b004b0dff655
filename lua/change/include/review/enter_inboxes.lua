-- enter_inboxes(own): put the pending requests of a change into the inboxes of their reviewers, or at another place there, and likewise
-- among those that persons have delegated.
local function enter_inboxes(own)
  local score = inbox_score(own)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then
      redis.call('ZADD', inboxes .. one.reviewer, score, own.id .. '/' .. one.slot)
      for person in string.gmatch(one.chain, '[^>]+') do redis.call('ZADD', away .. person, score, own.id .. '/' .. one.slot) end  -- at most 4
    end
  end
end
