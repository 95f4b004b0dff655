-- recall_answers(conf, verb, count): what the same call of so many items was answered within the last minute, or nil.
local function recall_answers(conf, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(conf, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end
