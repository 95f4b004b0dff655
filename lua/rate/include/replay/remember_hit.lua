-- remember_hit(at_ms, status, retry_ms, items): remember for a minute what the hit with this rid was answered.
local function remember_hit(at_ms, status, retry_ms, items)
  local words = { status, string.format('%.0f', retry_ms) }
  for i, item in ipairs(items) do words[i + 2] = table.concat(item, ',') end
  remember(at_ms, 'hit', table.concat(words, ';'))
end
