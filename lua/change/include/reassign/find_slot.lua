-- find_slot(own, slot): the request of this slot, and its index in slots_of; or nil.
local function find_slot(own, slot)
  for i, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if tonumber(one.slot) == slot then return one, i end
  end
end
