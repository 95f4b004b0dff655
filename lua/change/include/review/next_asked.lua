-- next_asked(own): who is asked by the next escalation, or nil; and its level, the last one if nobody is left. Somebody who has a request
-- already, or has written the change, is passed over.
local function next_asked(own)
  local level = 0
  for name in string.gmatch(text_of(own, 'p_escalate_to'), '[^,]+') do  -- at most 3: levels
    level = level + 1
    if level > number_of(own, 'level') and #slots_of(own) < 32 and can_be_asked(own, name) then return name, level end
  end
  return nil, level
end
