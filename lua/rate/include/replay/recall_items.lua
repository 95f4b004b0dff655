-- recall_items(at_ms, verb): the answers that this call left in the last minute, or nil: a status for each item, and a number where it has
-- one.
local function recall_items(at_ms, verb)
  local by, text = recall(at_ms)
  if by ~= verb then return nil end
  local items = {}
  for status, number in string.gmatch(text, '(%l+)=(%d*)') do items[#items + 1] = { status, tonumber(number) } end
  return items
end
