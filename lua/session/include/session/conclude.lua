-- conclude(ctx, verb, status, values): answer a call, and remember the answer for the case that the call is sent again. values: integers.
-- EARLY
local function conclude(ctx, verb, status, values)
  if not ctx.exists then create_base() end
  local words = {}
  for i, value in ipairs(values) do words[i] = string.format('%.0f', value) end
  note_answers(ctx, verb, { { status, table.concat(words, '/') } })
  return { status, ctx.now, unpack(values) }  -- at most 4: fields of an answer
end
