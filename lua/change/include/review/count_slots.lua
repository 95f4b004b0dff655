-- count_slots(own): how many requests are approved, rejected, pending, and wait for another revision.
local function count_slots(own)
  local counts = { approved = 0, rejected = 0, pending = 0, changes_requested = 0 }
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if counts[one.status] then counts[one.status] = counts[one.status] + 1 end
  end
  return counts
end
