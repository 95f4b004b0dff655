-- steps_in_order(id): the stored steps of a task, in the order in which they were stored: their names, and their parts as
-- step_parts reads them. If the server has evicted steps, those that are left.
local function steps_in_order(id)
  local flat, found = redis.call('HGETALL', steps .. id), {}  -- at most 20,000: two for each of steps_max
  for f = 1, #flat, 2 do
    local step = step_parts(flat[f + 1])
    step.name = flat[f]
    found[#found + 1] = step
  end
  table.sort(found, function(a, b) return a.place < b.place end)
  return found
end
