-- words_of(text): the words of a text, which has commas between them; one that begins with a comma has an empty word first.
local function words_of(text)
  local words = {}
  for word in string.gmatch(text .. ',', '([^,]*),') do words[#words + 1] = word end  -- at most 33: resources, and ''
  return words
end
