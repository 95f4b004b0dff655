-- set_deadline(conf, rid, deadline_ms): when a live request ends by itself. conf.due is not after any of these.
local function set_deadline(conf, rid, deadline_ms)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  conf.due = math.min(conf.due, deadline_ms)
end
