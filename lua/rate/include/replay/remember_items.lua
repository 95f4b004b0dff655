-- remember_items(at_ms, verb, items): remember for a minute what this call was answered.
local function remember_items(at_ms, verb, items)
  local words = {}
  for i, item in ipairs(items) do words[i] = item[1] .. '=' .. (item[2] and string.format('%.0f', item[2]) or '') end
  remember(at_ms, verb, table.concat(words, ','))
end
