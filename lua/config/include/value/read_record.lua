-- read_record(name): what is stored of a name: version, at_ms, actor, reason, size, and value or removed. All are texts; version is false
-- if nothing is stored.
-- EARLY
local function read_record(name)
  local row = redis.call('HMGET', value .. name, 'version', 'at_ms', 'actor', 'reason', 'size', 'removed', 'value')
  return { version = row[1], at_ms = row[2], actor = row[3], reason = row[4], size = row[5], removed = row[6], value = row[7] }
end
