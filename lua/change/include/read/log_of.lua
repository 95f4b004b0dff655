-- log_of(own, count): the last entries of the log of a change, the oldest of them first.
local function log_of(own, count)
  local entries, items = redis.call('XREVRANGE', logs .. own.id, '+', '-', 'COUNT', count), {}
  for i = #entries, 1, -1 do items[#items + 1] = { 'entry', entries[i][2] } end  -- at most 1,000: count
  return items
end
