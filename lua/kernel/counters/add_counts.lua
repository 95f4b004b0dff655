-- add_counts(counts): add what a call counted to the totals, once a call and not once a task. A number is added to its
-- counter, a table of buckets to one counter per bucket.
local function add_counts(counts)
  for name, counted in pairs(counts) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', counters, name, counted)
    else
      for bound, n in pairs(counted) do redis.call('HINCRBY', counters, name .. ':' .. bound, n) end
    end
  end
end
