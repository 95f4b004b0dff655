-- delay_until(conf, due_ms, id, lane): put a task aside. Who is blocked on its lane learned of no due time of that lane,
-- so one that falls within the longest block, 10 s, wakes a worker, which then blocks until it.
-- NEEDS delayed push_wake
local function delay_until(conf, due_ms, id, lane)
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - conf.now < 10000 then push_wake(lane) end
end
