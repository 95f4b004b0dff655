-- next_slot(list): the number of the next request. Slots are not used twice.
local function next_slot(list)
  return string.format('%d', list[#list].slot + 1)
end
