-- replayed_answers(ctx, verb, count): what the same call of so many items was answered within the last minute, or nil.
local function replayed_answers(ctx, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(ctx, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end
