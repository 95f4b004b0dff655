-- next_slot(list): the number of the next request. Slots are not used twice.
local function next_slot(list)
  return string.format('%d', (list[1] and list[#list].slot or 0) + 1)
end
