-- replayed_reply(ctx, verb): the answers that the same call got in the last minute, or nil.
-- EARLY
local function replayed_reply(ctx, verb)
  local word = done_before(ctx, verb)
  if not word then return nil end
  local answers = {}
  for item in string.gmatch(word, '[^,]+') do  -- at most 100: items
    local answer = {}
    for form, value in string.gmatch(item, '([ti])([^|]*)') do answer[#answer + 1] = form == 'i' and tonumber(value) or value end
    answers[#answers + 1] = answer
  end
  return answers
end
