-- concluded_before(ctx, verb): the answer to the same call within the last minute, or nil.
-- EARLY
local function concluded_before(ctx, verb)
  local before = replayed_answers(ctx, verb, 1)
  if not before then return nil end
  local answer = { before[1][1], ctx.now }
  for value in string.gmatch(before[1][2] or '', '%d+') do answer[#answer + 1] = tonumber(value) end
  return answer
end
