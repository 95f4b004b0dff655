-- steps_in_order(id): the stored steps of a task, in the order in which they were stored: names, and their parts as
-- step_parts reads them. If steps were lost, for they were evicted, those that are left.
local function steps_in_order(id)
  local flat, found, names, parts = redis.call('HGETALL', steps .. id), {}, {}, {}  -- at most 20,000: two for each of steps_max
  for f = 1, #flat, 2 do
    local one = step_parts(flat[f + 1])
    one.name = flat[f]
    found[#found + 1] = one
  end
  table.sort(found, function(a, b) return a.place < b.place end)
  for i, one in ipairs(found) do names[i], parts[i] = one.name, one end
  return names, parts
end
