-- settled_as(token, answer): the record's memory of a settlement, as settled_before reads it: '<token> <status>[ <number>]'.
-- EARLY
local function settled_as(token, answer)
  if not answer[2] then return token .. ' ' .. answer[1] end
  return token .. ' ' .. answer[1] .. string.format(' %.0f', answer[2])
end
