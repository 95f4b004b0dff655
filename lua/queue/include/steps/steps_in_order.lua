-- steps_in_order(id): the stored steps of a task, in the order in which they were stored: names, and their parts as
-- step_parts reads them.
local function steps_in_order(id)
  local flat, names, parts = redis.call('HGETALL', steps .. id), {}, {}  -- at most 20,000: two for each of steps_max
  for f = 1, #flat, 2 do
    local found = step_parts(flat[f + 1])
    names[found.place], parts[found.place] = flat[f], found
  end
  return names, parts
end
