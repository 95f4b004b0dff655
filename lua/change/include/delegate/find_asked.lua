-- find_asked(own, slot): the request of this slot, or of any that the actor has or has delegated, if slot is 0; or nil.
local function find_asked(own, slot)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if tonumber(one.slot) == slot or slot == 0 and is_asked(one, actor) then return one end
  end
end
