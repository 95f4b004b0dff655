-- write_capacity(resource, room): store what read_capacity reads.
local function write_capacity(resource, room)
  redis.call('HSET', capacity, resource, string.format('%.0f %s %s %s %.0f', room.max, room.status, room.silent_ms,
    room.seen_ms, room.used))
end
