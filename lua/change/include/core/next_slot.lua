-- next_slot(list): the number of the next request. It is one more than the last.
local function next_slot(list)
  return string.format('%d', list[#list].slot + 1)
end
