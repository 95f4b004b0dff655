-- write_stream(key, at, first, last): add these entries of the call to a stream; without those that an earlier sending of
-- the call has added.
local function write_stream(key, at, first, last)
  local newest = at > 0 and redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local top, j = newest and newest[1] or '0-0', first
  while j <= last do  -- at most 1,000: the items of a call
    local id, size, words = entry_name[j], tonumber(entry_value[j]), {}
    for k = j + 1, j + size do
      words[#words + 1], words[#words + 2] = entry_name[k], entry_value[k]
    end
    if size > 0 then
      if is_above(id, top) then redis.call('XADD', key, id, unpack(words)) end  -- at most 2,000: two for each item of a call
    elseif at > 0 or j > first then
      if id == top or is_above(id, top) then redis.call('XSETID', key, id) end
    else  -- all entries of the stream were deleted
      redis.call('XADD', key, id, '-', '-')
      redis.call('XDEL', key, id)
    end
    j = j + size + 1
  end
end
