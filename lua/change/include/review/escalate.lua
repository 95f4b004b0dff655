-- escalate(ctx, own, by): ask the next of `escalate_to` as well, with a full interval for all who are asked. Somebody who has a request
-- already, or has written the change, is passed over. Returns whether there is one request more.
local function escalate(ctx, own, by)
  local names, list = {}, slots_of(own)
  for name in string.gmatch(text_of(own, 'p_escalate_to'), '[^,]+') do names[#names + 1] = name end
  local level, added = number_of(own, 'level'), nil
  while level < #names and not added do  -- at most 3: levels
    level = level + 1
    if #list < 32 and can_be_asked(own, names[level]) then
      added = { slot = next_slot(list), reviewer = names[level], chain = '' }
    end
  end
  set_field(own, 'level', level)
  set_field(own, 'escalate_at_ms', level < #names and ctx.now + number_of(own, 'p_escalate_ms') or 0)
  if not added then return false end
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  for _, one in ipairs(list) do  -- at most 31: slots
    if one.status == 'pending' then redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'due_ms', number_of(own, 'timeout_at_ms')) end
  end
  list[#list + 1] = added
  new_request(ctx, own, added, '')
  enter_inboxes(own)
  record_step(ctx, own, 'change.escalated', by, 'slot=' .. added.slot .. ' to=' .. added.reviewer, '')
  return true
end
