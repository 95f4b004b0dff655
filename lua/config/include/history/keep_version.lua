-- keep_version(name, record): put a version into the history of its name, and drop what is too much there. Returns the bytes of the history.
local function keep_version(name, record)
  local entry = entry_text(record)
  local kept = redis.call('LPUSH', history .. name, entry)
  local size = kept > 1 and tonumber(record.size) + #entry or #entry
  while kept > 99 or size > 1048576 do  -- at most 100: entries of a history. One alone is smaller
    size = size - #redis.call('RPOP', history .. name)
    kept = kept - 1
  end
  return size
end
