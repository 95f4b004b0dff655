-- add_event(answer, status, entry): add an event of the stream to an answer. Returns its id.
local function add_event(answer, status, entry)
  local fields = entry[2]
  for i = 1, #fields do answer.room = answer.room - #fields[i] end
  answer.items[#answer.items + 1] = { status, entry[1], fields }
  return entry[1]
end
