-- settled_as(token, answer): the text of the record field `settled`: '<token> <status>[ <number>]'. settled_before
-- reads it.
-- EARLY
local function settled_as(token, answer)
  if not answer[2] then return token .. ' ' .. answer[1] end
  return token .. ' ' .. answer[1] .. string.format(' %.0f', answer[2])
end
