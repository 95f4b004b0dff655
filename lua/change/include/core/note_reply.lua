-- note_reply(ctx, verb, answers): remember what this call answers, in case it is sent again. An answer is a status and its fields:
-- whole numbers, and texts without spaces, commas and `|`.
-- EARLY
local function note_reply(ctx, verb, answers)
  if not ctx.exists and not ctx.made then return end
  local items = {}
  for i, answer in ipairs(answers) do  -- at most 100: items
    local parts = {}
    for j, value in ipairs(answer) do
      parts[j] = value == value .. '' and 't' .. value or 'i' .. string.format('%.0f', value)
    end
    items[i] = table.concat(parts, '|')
  end
  note_done(ctx, verb, table.concat(items, ','))
end
