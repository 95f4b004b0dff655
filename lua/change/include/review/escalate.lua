-- escalate(ctx, own, by): ask the next of `escalate_to` as well, with a full interval for all who are asked. Returns whether there is one
-- request more.
local function escalate(ctx, own, by)
  local name, level = next_asked(own)
  local list, levels = slots_of(own), select(2, string.gsub(text_of(own, 'p_escalate_to'), '[^,]+', ''))
  set_field(own, 'level', level)
  set_field(own, 'escalate_at_ms', level < levels and ctx.now + number_of(own, 'p_escalate_ms') or 0)
  if not name then return false end
  local added = { slot = next_slot(list), reviewer = name, chain = '' }
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  for _, one in ipairs(list) do  -- at most 31: slots
    if one.status == 'pending' then redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'due_ms', own.timeout_at_ms) end
  end
  list[#list + 1] = added
  new_request(ctx, own, added, '')
  enter_inboxes(own)
  record_step(ctx, own, 'change.escalated', by, 'slot=' .. added.slot .. ' to=' .. added.reviewer, '')
  return true
end
