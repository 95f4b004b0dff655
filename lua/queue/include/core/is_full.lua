-- is_full(): whether the server has reached maxmemory. Only calls with large results ask, because INFO takes a few
-- microseconds. The call is between writes and must not fail, so a user without the right to INFO gets false.
local function is_full()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' then return false end
  local used, max = string.match(info, 'used_memory:(%d+)'), string.match(info, 'maxmemory:([1-9]%d*)')
  return max and tonumber(used) >= tonumber(max)
end
