-- is_ended(state): whether only reopening or retention follows.
local function is_ended(state)
  return state == 'completed' or state == 'failed' or state == 'rejected' or state == 'cancelled'
end
